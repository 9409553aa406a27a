"""check_near.py ALLOWED FIRST OTHERS…: checks that scores (ingot score --json) of several
engines are close to the first's."""
import json
import sys

allowed = float(sys.argv[1])
first, *others = (json.load(open(name))["nll"] for name in sys.argv[2:])
for name, other in zip(sys.argv[3:], others):
    worst = max(abs(a - b) for a, b in zip(first, other, strict=True))
    assert 0 < worst <= allowed, f"{name}: {worst} off, {allowed} allowed; 0 is the same code"
