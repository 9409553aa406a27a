"""compare_draws.py PROMPTS COMMAND…: the device samples the ids that the host samples from
its logits, for all options.

A bias of 0 changes no logit, but is applied by the host: with it every step's logits are copied back.
"""
import json
import subprocess
import sys

prompts, command = sys.argv[1], sys.argv[2:]
SETTINGS = ["--temp 1", "--temp 0.7 --top-k 5", "--temp 1.5 --top-p 0.9", "--temp 2 --min-p 0.05", "--temp 1e6 --top-k 700 --top-p 0.8 --min-p 0.5"]


def ids(*options):
    done = subprocess.run([*command, "--prompts-file", prompts, "-n", "10", "--ignore-eos", "--json", "--quiet", "--seed", "11", *options], check=True, capture_output=True, text=True)
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()]


seen = set()
for setting in SETTINGS:
    device, host = ids(*setting.split()), ids(*setting.split(), "--logit-bias", "0=0")
    assert device == host and all(len(answer) == 10 for answer in device), (setting, device, host)
    seen.add(str(device))
assert len(seen) == len(SETTINGS), "settings make no difference"
