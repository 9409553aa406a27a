pdl.pattern @forgets_factor : benefit(1) {
  %a = operand
  %b = operand
  %t = type
  %sum = operation "lm.add"(%a, %b : !pdl.value, !pdl.value) -> (%t : !pdl.type)
  rewrite %sum {
    %scaled = operation "lm.scale"(%a : !pdl.value)
    replace %sum with %scaled
  }
}
