"""count_launches.py TRACE TOKENS MOST NAME…: every step of TOKENS tokens in the trace has at most MOST launches, none of a
kernel whose name begins with a NAME."""
import collections
import json
import sys

trace, tokens, most, *names = sys.argv[1:]
steps = collections.defaultdict(list)
for event in json.load(open(trace))["traceEvents"]:
    if event["ph"] == "X" and event["args"]["tokens"] == int(tokens):
        steps[event["args"]["step"]].append(event["name"])
assert steps, f"no step of {tokens} tokens"
for step, launched in steps.items():
    assert len(launched) <= int(most), f"step {step} has {len(launched)} launches: {launched}"
    found = [name for name in launched for prefix in names if name.startswith(prefix)]
    assert not found, f"step {step} launches {found}"
