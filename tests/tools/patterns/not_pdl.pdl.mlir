pdl.pattern @open : benefit(1) {
  %a = operand
