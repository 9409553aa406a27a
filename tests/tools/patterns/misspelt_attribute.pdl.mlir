pdl.pattern @misspelt_attribute : benefit(1) {
  %a = operand
  %f = attribute
  %scaled = operation "lm.scale"(%a : !pdl.value) {"facter" = %f}
  rewrite %scaled {
    replace %scaled with (%a : !pdl.value)
  }
}
