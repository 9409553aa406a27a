pdl.pattern @erase : benefit(1) {
  %a = operand
  %b = operand
  %t = type
  %sum = operation "lm.add"(%a, %b : !pdl.value, !pdl.value) -> (%t : !pdl.type)
  rewrite %sum {
    erase %sum
  }
}
