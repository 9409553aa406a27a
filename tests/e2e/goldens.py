"""Compares real checkpoints with HF transformers on the same weights in f32 (goldens/*.json).

The tolerances, per precision:
                          exact        fast
  greedy ids may differ   never, except where the margin of the choice is below
                          0.001        0.5
  perplexity within       0.05 %       1 %
  mean |nll - golden|     0.001        llama.cpp's own on the same file
  mean KL(exact || fast)               0.01"""
import subprocess
import time

import numpy

MARGIN = {"exact": 1e-3, "fast": 0.5}
PERPLEXITY = {"exact": 0.0005, "fast": 0.01}
NLL = {"smollm2": {"exact": 0.001, "fast": 0.058}, "gemma3": {"exact": 0.001, "fast": 0.107}}
LARGEST_ENGINE = 1.1  # times the checkpoint
KL_POSITIONS = {"smollm2": 512, "gemma3": 192}  # a row of Gemma's logits is 1 MB
LONG_KL_POSITIONS = {"smollm2": 1024, "gemma3": 1024}


def compile_engine(ingot, checkpoint, precision):
    engine = ingot.work / f"{checkpoint.name}-{precision}.ingot"
    start = time.monotonic()
    ingot("compile", checkpoint.path, "-o", engine, "--precision", precision, "--quiet")
    seconds = time.monotonic() - start
    checkpoint.engines[precision] = engine
    ratio = engine.stat().st_size / checkpoint.path.stat().st_size
    if precision == "fast":
        assert ratio <= LARGEST_ENGINE, f"the engine is {ratio:.3f} times the checkpoint, the limit is {LARGEST_ENGINE}"
    ingot("verify", engine)
    return f"{seconds:.1f} s, {ratio:.3f} × the checkpoint"


def greedy(ingot, checkpoint, precision):
    cases = checkpoint.golden["greedy"]
    longest = max(len(case["new_ids"]) for case in cases)
    prompts = ingot.file("greedy.jsonl", [{"prompt": case["prompt"]} for case in cases])
    answers = ingot.json_lines("run", checkpoint.engines[precision], "--prompts-file", prompts, "--greedy", "-n", longest)
    assert len(answers) == len(cases), f"{len(answers)} answers to {len(cases)} prompts"
    left = []
    for case, answer in zip(cases, answers):
        assert answer["prompt_ids"] == case["prompt_ids"], f"{case['prompt']!r}: prompt ids {answer['prompt_ids']}"
        wanted = case["new_ids"]
        got = answer["ids"][: len(wanted)]
        same = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        if same == len(wanted):
            continue
        if answer["finish_reason"] == "stop" and same == len(got) == len(wanted) - 1:
            continue  # the golden answer ends with the stop id, which ours does not contain
        margin = case["margin"][same]
        assert margin < MARGIN[precision], (
            f"{case['prompt']!r}: id {same} is {got[same] if same < len(got) else 'missing'}, expected {wanted[same]} "
            f"(margin {margin})")
        left.append(margin)
    return f"{len(cases) - len(left)} of {len(cases)} equal" + (f", others left at margins {left}" if left else "")


def run_alone(ingot, checkpoint, precision):
    """A prompt on the command line gives the same answer as in a batch from a file."""
    case = checkpoint.golden["greedy"][0]
    answer = ingot.json("run", checkpoint.engines[precision], case["prompt"], "--greedy", "-n", 8)
    in_batch = ingot.json_lines("run", checkpoint.engines[precision], "--prompts-file",
                                ingot.file("alone.jsonl", [{"prompt": c["prompt"]} for c in checkpoint.golden["greedy"]]),
                                "--greedy", "-n", 8)[0]
    for key in ("prompt_ids", "ids", "text", "finish_reason"):
        assert answer[key] == in_batch[key], f"{key}: {answer[key]!r} alone, {in_batch[key]!r} in a batch"
    assert set(answer) == {"prompt_ids", "ids", "text", "finish_reason", "timings"}, sorted(answer)
    assert set(answer["timings"]) == {"load_ms", "ttft_ms", "prompt_tps", "decode_tps"}, answer["timings"]
    plain = ingot("run", checkpoint.engines[precision], "-p", case["prompt"], "--greedy", "-n", 8).stdout
    assert plain == answer["text"] + "\n", f"streamed {plain!r}, JSON has {answer['text']!r}"


def first_step(ingot, checkpoint, precision):
    """The ten most probable ids after each prompt and their log-probabilities."""
    worst = 0.0
    for case in checkpoint.golden["greedy"]:
        answer = ingot.json("run", checkpoint.engines[precision], case["prompt"], "--greedy", "-n", 1, "--logprobs", 20)
        if not answer["ids"]:
            continue  # it stops at once: there is no id to compare
        got = {int(i): p for i, p in answer["logprobs"][0]}
        worst = max(worst, *(abs(got.get(i, -99) - p) for i, p in case["first_top10"]))
    limit = 0.002 if precision == "exact" else 1.0
    assert worst <= limit, f"a log-probability differs by {worst:.4f}, the limit is {limit}"
    return f"largest difference {worst:.5f}"


def text(ingot, checkpoint, precision):
    golden = checkpoint.golden["text"]
    path = ingot.file("text.json", [golden["ids"]])
    score = ingot.json("score", checkpoint.engines[precision], "--ids-file", path)
    assert len(score["nll"]) == len(golden["nll"]), len(score["nll"])
    difference = numpy.abs(numpy.array(score["nll"]) - numpy.array(golden["nll"])).mean()
    perplexity = score["perplexity"] / golden["perplexity"] - 1
    recomputed = float(numpy.exp(numpy.mean(score["nll"])))
    assert abs(recomputed - score["perplexity"]) < 1e-6 * recomputed, "the perplexity is not that of the nll"
    remark = f"perplexity {score['perplexity']:.3f} ({100 * perplexity:+.3f} %), mean |Δ nll| {difference:.5f}"
    assert abs(perplexity) <= PERPLEXITY[precision], remark
    assert difference <= NLL[checkpoint.name][precision], remark
    return remark


def logits_of(ingot, engine, ids, name, *options):
    path = ingot.work / name
    ingot("logits", engine, "--ids", ",".join(map(str, ids)), "--out", path, *options)
    values = numpy.load(path, mmap_mode="r")
    assert values.dtype == numpy.float32 and values.shape[0] == len(ids), (values.dtype, values.shape)
    return values


def log_softmax(rows):
    rows = numpy.asarray(rows, dtype=numpy.float64)
    rows = rows - rows.max(axis=1, keepdims=True)
    return rows - numpy.log(numpy.exp(rows).sum(axis=1, keepdims=True))


def divergence(ingot, checkpoint, long):
    """The mean KL divergence of fast from exact, and each position's argmax compared with the golden."""
    golden = checkpoint.golden["text"]
    count = (LONG_KL_POSITIONS if long else KL_POSITIONS)[checkpoint.name]
    ids = golden["ids"][:count]
    exact = logits_of(ingot, checkpoint.engines["exact"], ids, "exact.npy")
    fast = logits_of(ingot, checkpoint.engines["fast"], ids, "fast.npy")
    total, wrong = 0.0, []
    for start in range(0, count, 32):
        p, q = log_softmax(exact[start : start + 32]), log_softmax(fast[start : start + 32])
        total += float((numpy.exp(p) * (p - q)).sum())
        for i in range(len(p)):
            best, wanted = int(p[i].argmax()), golden["argmax"][start + i]
            if best != wanted and p[i][best] - p[i][wanted] >= MARGIN["exact"]:
                wrong.append(start + i)
    for name in ("exact.npy", "fast.npy"):
        (ingot.work / name).unlink()
    assert not wrong, f"exact has another argmax at positions {wrong[:10]}"
    assert total / count <= 0.01, f"mean KL {total / count:.5f} over {count} positions, the limit is 0.01"
    return f"mean KL {total / count:.5f} over {count} positions"


def tokenizer(ingot, checkpoint, precision):
    for case in checkpoint.golden["tokenizer"]:
        ids = ingot.json("tokenize", checkpoint.engines[precision], "--text", case["text"], "--no-special")["ids"]
        assert ids == case["ids"], f"{case['text']!r}: {ids}, expected {case['ids']}"
    return f"{len(checkpoint.golden['tokenizer'])} texts"


def chat(ingot, checkpoint, precision):
    golden = checkpoint.golden["chat"]
    engine = checkpoint.engines[precision]
    if "error" in golden:  # the checkpoint has no template
        done = ingot("run", engine, "--chat", "Hello", code=2)
        assert "--chat-template" in done.stderr, done.stderr
        return "no template: refused, with the way out"
    (message,) = golden["messages"]
    answer = ingot.json("run", engine, "--chat", message["content"], "--greedy", "-n", 4)
    assert answer["prompt_ids"] == golden["ids"], answer["prompt_ids"]
    spoken = subprocess.run([ingot.path, "chat", engine, "--greedy", "-n", "16"], input=message["content"] + "\n/bye\n",
                            capture_output=True, text=True, timeout=120)
    assert spoken.returncode == 0 and spoken.stdout.startswith(answer["text"].strip()[:4]), spoken
    return None


def add(suite, ingot, checkpoint, long):
    for precision in ("fast", "exact"):
        name = f"{checkpoint.name} {precision}: "
        if not suite.check(name + "compile", lambda: compile_engine(ingot, checkpoint, precision), needed=True):
            continue
        for label, function in (("greedy", greedy), ("first step", first_step), ("text", text)):
            suite.check(name + label, lambda: function(ingot, checkpoint, precision))
        if precision == "fast":
            for label, function in (("tokenizer", tokenizer), ("chat", chat), ("run alone", run_alone)):
                suite.check(name + label, lambda: function(ingot, checkpoint, precision))
    if len(checkpoint.engines) == 2:
        suite.check(f"{checkpoint.name}: fast against exact", lambda: divergence(ingot, checkpoint, long))
