pdl.pattern @no_operands : benefit(1) {
  %a = operand
  %b = operand
  %t = type
  %sum = operation "lm.add"(%a, %b : !pdl.value, !pdl.value) -> (%t : !pdl.type)
  rewrite %sum {
    %f = attribute = 1.0 : f32
    %s = operation "lm.scale" {"factor" = %f}
    replace %sum with %s
  }
}
