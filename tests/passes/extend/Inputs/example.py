"""Prints the example of docs/patterns.md that contains these patterns:   example.py docs/patterns.md Pattern…"""
import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
blocks = re.findall(r"^```\n(#include.*?)^```", text, re.M | re.S)
for block in blocks:
    if set(re.findall(r"^Pattern (\w+)", block, re.M)) == set(sys.argv[2:]):
        sys.stdout.write(block)
        break
else:
    sys.exit(f"no example has just the patterns {' '.join(sys.argv[2:])}")
