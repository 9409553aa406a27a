pdl.pattern @typo : benefit(1) {
  %a = operand
  %b = operand
  %product = operation "lm.multiply"(%a, %b : !pdl.value, !pdl.value)
  rewrite %product {
    replace %product with (%a : !pdl.value)
  }
}
