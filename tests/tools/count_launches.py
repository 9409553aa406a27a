"""count_launches.py TRACE TOKENS COUNT: checks that every step of TOKENS tokens in the trace has COUNT launches."""
import collections
import json
import sys

trace, tokens, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
steps = collections.defaultdict(list)
for event in json.load(open(trace))["traceEvents"]:
    if event["ph"] == "X" and event["args"]["tokens"] == tokens:
        steps[event["args"]["step"]].append(event["name"])
assert steps, f"no step of {tokens} tokens"
for step, launched in steps.items():
    assert len(launched) == count, f"step {step} has {len(launched)} launches: {launched}"
