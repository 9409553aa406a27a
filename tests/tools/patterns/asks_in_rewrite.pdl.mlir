pdl.pattern @asks : benefit(1) {
  %a = operand
  %b = operand
  %t = type
  %sum = operation "lm.add"(%a, %b : !pdl.value, !pdl.value) -> (%t : !pdl.type)
  rewrite %sum {
    %swapped = operation "lm.add"(%b, %a : !pdl.value, !pdl.value)
    apply_native_rewrite "HasOneUse"(%a : !pdl.value)
    replace %sum with %swapped
  }
}
