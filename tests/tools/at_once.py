"""at_once.py N COMMAND…: runs the command N times concurrently and prints each output;
exits with the worst exit code."""
import subprocess
import sys

running = [subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(int(sys.argv[1]))]
for process in running:
    print(process.communicate()[0])
sys.exit(max(process.returncode for process in running))
