"""replay_command.py FILE BIN: runs the reproduction command that an error in FILE gives, with the tools in BIN."""
import pathlib
import re
import subprocess
import sys

said = re.search(r"`(ingot-opt [^`]*)` reproduces it", pathlib.Path(sys.argv[1]).read_text())
assert said, "no command is said"
done = subprocess.run(f"{sys.argv[2]}/{said[1]}", shell=True, capture_output=True, text=True)
assert done.returncode == 1, (done.returncode, done.stderr)
print(done.stderr)
