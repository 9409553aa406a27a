// Scaling has no operands that could be exchanged.
pdl.pattern @Either : benefit(1) {
  %x = operand
  %types = types
  %scale = operation "lm.scale"(%x : !pdl.value) -> (%types : !pdl.range<type>)
  apply_native_constraint "EitherOrder"(%scale : !pdl.operation)
  rewrite %scale {
    replace %scale with (%x : !pdl.value)
  }
}
