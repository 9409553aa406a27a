pdl.pattern @twins : benefit(1) {
  %x = operand
  %t = type
  %sum = operation "lm.add"(%x, %x : !pdl.value, !pdl.value) -> (%t : !pdl.type)
  rewrite %sum {
    %two = attribute = 2.0 : f32
    %twice = operation "lm.scale"(%x : !pdl.value) {"factor" = %two}
    replace %sum with %twice
  }
}
