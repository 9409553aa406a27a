"""same_ir.py A B: checks that two files of IR differ only in value names, which IR as text may lose."""
import re
import sys

a, b = (re.sub(r"%[\w$.-]+", "%", open(path).read()).split("\n") for path in sys.argv[1:])
for line, (left, right) in enumerate(zip(a, b), 1):
    if left != right:
        sys.exit(f"line {line} differs:\n  {left}\n  {right}")
if len(a) != len(b):
    sys.exit(f"{len(a)} lines and {len(b)}")
