"""Prints lm IR whose MLPs use an op of tests/plugins/outside:   use_gate.py lm.mlir gate|cube

gate: silu(a) * b becomes one op; cube: its result is also cubed.
"""
import re
import sys

text, op = open(sys.argv[1], encoding="utf-8").read(), sys.argv[2]
pattern = re.compile(r"(?P<head> *)(?P<a>%\w+) = lm\.activation silu (?P<g>%\w+) : (?P<type>\S+)\n"
                     r" *(?P<y>%\w+) = lm\.mul (?P=a), (?P<u>%\w+) : \S+\n")
if op == "gate":
    made = r"\g<head>\g<y> = sample.gate \g<g>, \g<u> : \g<type>\n"
else:
    made = (r"\g<head>\g<a> = lm.activation silu \g<g> : \g<type>\n\g<head>%cubed = sample.cube \g<u> : \g<type>\n"
            r"\g<head>\g<y> = lm.mul \g<a>, %cubed : \g<type>\n")
text, count = pattern.subn(made, text)
assert count, "no gate"
sys.stdout.write(text)
