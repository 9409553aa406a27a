"""page_code.py PAGE.html TARGET KERNEL: prints the code that an engine's page shows for a kernel."""
import base64
import json
import pathlib
import re
import sys
import zlib

page, target, kernel = pathlib.Path(sys.argv[1]).read_text(), *sys.argv[2:]
more = json.loads(re.search(r'<script type="application/json" id="more">(.*?)</script>', page, re.S)[1])
codes = [one["code"] for program in more["programs"] for one in program["targets"] if one["target"] == target]
print(json.loads(zlib.decompress(base64.b64decode(codes[0])))[kernel])
