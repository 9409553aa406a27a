pdl.pattern @second_result : benefit(1) {
  %a = operand
  %b = operand
  %t = type
  %sum = operation "lm.add"(%a, %b : !pdl.value, !pdl.value) -> (%t : !pdl.type)
  rewrite %sum {
    %none = result 1 of %sum
    %s = operation "lm.add"(%none, %a : !pdl.value, !pdl.value)
    replace %sum with %s
  }
}
