pdl.pattern @empty_range : benefit(1) {
  %a = operand
  %b = operand
  %t = type
  %none = operands
  %sum = operation "lm.add"(%a, %b, %none : !pdl.value, !pdl.value, !pdl.range<value>) -> (%t : !pdl.type)
  rewrite %sum {
    %f = attribute = 1.0 : f32
    %s = operation "lm.scale"(%none : !pdl.range<value>) {"factor" = %f}
    replace %sum with %s
  }
}
