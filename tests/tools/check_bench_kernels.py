"""Checks the output of `bench-kernels` for the tiny checkpoint:  check_bench_kernels.py cpu|gpu JSONL"""
import json
import sys

gpu = sys.argv[1] == "gpu"
lines = [json.loads(line) for line in open(sys.argv[2])]
head, rest = lines[0], lines[1:]
assert set(head) == {"engine", "device", "target", "read_gb_s", "bf16_tflops"}, head
assert not any("error" in line for line in rest), rest
if gpu:
    assert head["target"] == "cuda-emulator:sm_90a" and head["read_gb_s"] is None and head["bf16_tflops"] is None, head
else:
    assert head["target"].startswith("cpu:") and head["read_gb_s"] > 0.1 and head["bf16_tflops"] > 0.001, head

keys = "kernel variant tokens context edges launches us us_min us_max bytes gb_s flops tflops bound_us of_bound foretold_us"
figures = [line for line in rest if "step" not in line]
for figure in figures:
    assert set(figure) == set(keys.split()), figure
    assert 0 < figure["us_min"] <= figure["us"] <= figure["us_max"] and figure["launches"] > 0, figure
    assert figure["bytes"] > 0 and abs(figure["gb_s"] * figure["us"] * 1e3 / figure["bytes"] - 1) < 1e-6, figure
    assert (figure["bound_us"] is None) == gpu and (figure["of_bound"] is None) == gpu, figure
    assert gpu or figure["flops"] == 0 or figure["foretold_us"] > 0, figure
    assert (figure["context"] is not None) == figure["kernel"].startswith("attention"), figure
    ahead = figure["variant"] == "each_line_ahead"  # on CPUs, for one token, where it is faster
    assert (figure["variant"] is not None) == (gpu or ahead) and not (ahead and (gpu or figure["tokens"] > 1)), figure
    assert figure["edges"] in (("programmatic", "full") if gpu else (None,)), figure


def of(kernel, tokens, context=None):
    return [f for f in figures if f["kernel"] == kernel and f["tokens"] == tokens and f["context"] == context]


tokens = (1, 20) if gpu else (1, 3, 40)
contexts = {n: [32] for n in tokens} if gpu else {1: [32, 200], 3: [32, 200], 40: [40, 200]}
prompt = tokens[-1]
for n in tokens:
    # Two layers of 64 x 64: two operations per weight and token.
    both = of("residual_0", n)
    assert len(both) == (2 if gpu else 1) and all(f["flops"] == 2 * 64 * 64 * n and f["launches"] == 2 for f in both), both
    # Four operations per query value and position; for a prompt, over the positions before each of its tokens.
    for context in contexts[n]:
        pairs = n * context if n != prompt else sum(range(context - n + 1, context + 1))
        attention = of("attention_0", n, context)
        assert len(attention) == len(both) and attention[0]["flops"] == 4 * 64 * pairs, (n, context, attention)
    assert len({f["context"] for f in figures if f["tokens"] == n} - {None}) == len(contexts[n])
if gpu:
    assert of("attention_0", 1, 32)[0]["variant"] != of("attention_0", 20, 32)[0]["variant"]
    # In steps of few tokens, other kernels do the work of rope_append_0.
    assert not of("rope_append_0", 1) and of("rope_append_0", 20), {f["kernel"] for f in figures}

steps = [line["step"] for line in rest if "step" in line]
for n in tokens:
    own = [s for s in steps if s["tokens"] == n]
    whole = [s for s in own if s["without"] is None]
    assert len(whole) == (2 if gpu else 1), own
    for step in whole:
        kernels = [f for f in figures if f["tokens"] == n and f["context"] in (None, step["context"])]
        edges = [f for f in kernels if f["edges"] == step["edges"]]
        edges += [f for f in kernels if step["edges"] == "programmatic" and f["edges"] == "full"
                  and not any(g["kernel"] == f["kernel"] for g in edges)]
        total = sum(f["us"] * f["launches"] for f in edges)
        assert abs(step["us_sum_of_kernels"] / total - 1) < 1e-6, (step, total)
        assert step["us_step_graph"] > 0 and (step["host_us"] is not None) == gpu, step
    left_out = {f["kernel"] for f in figures if f["tokens"] == n and n != prompt}
    assert {s["without"] for s in own} - {None} == left_out, own
