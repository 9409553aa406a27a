"""exits.py CODE COMMAND…: runs COMMAND; succeeds if it ends with exactly that exit code."""
import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
if code != int(sys.argv[1]):
    sys.exit(f"exit code {code}, expected {sys.argv[1]}")
