// This rewrite is valid, but a norm computes something else.
pdl.pattern @wrong : benefit(1) {
  %a = operand
  %mean = operand
  %t = type
  %one = operand
  %root = operation "arith.divf"(%one, %mean : !pdl.value, !pdl.value) -> (%t : !pdl.type)
  %r = result 0 of %root
  %product = operation "arith.mulf"(%a, %r : !pdl.value, !pdl.value) -> (%t : !pdl.type)
  rewrite %product {
    %turned = operation "arith.addf"(%r, %a : !pdl.value, !pdl.value)
    replace %product with %turned
  }
}
