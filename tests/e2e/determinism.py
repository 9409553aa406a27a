"""A request's answer does not depend on the batch composition.

`logits` is compared byte for byte between chunk sizes and thread counts. In batches, the ids and the 20
highest log-probabilities of every step are compared as printed (the shortest text that parses to the same value): a
log-probability sums over the whole row, so any changed bit of the logits shows."""
import contextlib
import random

import goldens

PROMPT = 70  # longer than a KV page and an attention tile


def prompts_of(checkpoint, count):
    """Cuts prompts of many lengths from the golden text, so that no tokenizer is needed."""
    random_source = random.Random(1)
    ids = checkpoint.golden["text"]["ids"]
    for _ in range(count):
        length = random_source.choice([1, 2, 3, 7, 15, 16, 17, 31, 33, 48, PROMPT])
        start = random_source.randrange(len(ids) - length)
        yield {"prompt_ids": ids[start : start + length]}


def chunks(ingot, checkpoint, precision, *more):
    ids = checkpoint.golden["text"]["ids"][:PROMPT]
    first = None
    for options in ([], ["--max-batch-tokens", 1], ["--max-batch-tokens", 7], ["--max-batch-tokens", 64],
                    ["--max-batch-tokens", 512], ["--threads", 1], ["--threads", 2], ["--threads", 1, "--max-batch-tokens", 7], *more):
        path = ingot.work / "chunks.npy"
        goldens.logits_of(ingot, checkpoint.engines[precision], ids, "chunks.npy", *options)
        data = path.read_bytes()
        path.unlink()
        first = first or data
        assert data == first, f"the logits with {options} differ from those without"


def answers(ingot, checkpoint, precision, prompts, *options):
    lines = ingot.json_lines("run", checkpoint.engines[precision], "--prompts-file", prompts, "--greedy", "-n", 6,
                             "--ignore-eos", "--logprobs", 20, "--context", 128, *options)
    return [(line["prompt_ids"], line["ids"], line["logprobs"]) for line in lines]


def batches(ingot, checkpoint, precision, long):
    count = 64 if long or checkpoint.name == "smollm2" else 20  # at least as many as two tiles hold
    prompts = ingot.file("batch.jsonl", prompts_of(checkpoint, count))
    alone = answers(ingot, checkpoint, precision, prompts, "--max-seqs", 1)
    assert len(alone) == count and all(len(ids) == 6 and len(rows) == 6 for _, ids, rows in alone)
    cases = [["--max-seqs", 2], ["--max-seqs", 7, "--max-batch-tokens", 33], ["--max-seqs", 64],
             ["--max-seqs", 64, "--max-batch-tokens", 64, "--threads", 1]]
    if long:
        cases += [["--max-seqs", n] for n in (3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63)]
        cases += [["--max-seqs", 16, "--max-batch-tokens", n] for n in (16, 17, 64, 512)]
    for options in cases:
        for number, (one, other) in enumerate(zip(alone, answers(ingot, checkpoint, precision, prompts, *options), strict=True)):
            assert one == other, f"prompt {number} answers otherwise with {options} than alone"
    return f"{count} prompts, {len(cases)} ways"


def ids_alone(ingot, checkpoint, precision):
    """For requests without log-probabilities the head kernel itself finds the ids (for up to 64 rows per step); they
    must be the same."""
    prompts = ingot.file("ids.jsonl", prompts_of(checkpoint, 70))
    common = ["--prompts-file", prompts, "--greedy", "-n", 5, "--ignore-eos", "--context", 128]
    wanted = [a["ids"] for a in ingot.json_lines("run", checkpoint.engines[precision], *common, "--logprobs", 0, "--max-seqs", 16)]
    for options in (["--max-seqs", 1], ["--max-seqs", 9, "--threads", 1], ["--max-seqs", 64], ["--max-seqs", 70]):
        found = [a["ids"] for a in ingot.json_lines("run", checkpoint.engines[precision], *common, *options)]
        assert found == wanted, f"other ids with {options} than from logits"


def prefixes(ingot, checkpoint, precision):
    """Prompts that share a prefix with earlier ones reuse their KV pages, and must answer as if they did not."""
    ids = checkpoint.golden["text"]["ids"]
    prompts = ingot.file("prefixes.jsonl", [{"prompt_ids": ids[:n]} for n in (PROMPT, 40, PROMPT, 65, 90, 33, 64)])
    common = [checkpoint.engines[precision], "--prompts-file", prompts, "--greedy", "-n", 6, "--ignore-eos", "--logprobs", 20,
              "--context", 128]
    wanted = ingot.json_lines("run", *common, "--no-prefix-cache", "--max-seqs", 1)
    assert not any("cached_tokens" in a for a in wanted)
    for options in (["--max-seqs", 1], ["--max-seqs", 3, "--max-batch-tokens", 33]):
        found = ingot.json_lines("run", *common, *options)
        assert any(a.get("cached_tokens", 0) >= 64 for a in found), "no prompt found a prefix"
        for one, other in zip(wanted, found, strict=True):
            assert (one["ids"], one["logprobs"]) == (other["ids"], other["logprobs"]), f"a prefix found changes the answer ({options})"


def preempted(ingot, checkpoint, precision):
    """With too little KV memory for all, requests are preempted and later swapped in or recomputed; also forks several
    choices from one prompt."""
    ids = checkpoint.golden["text"]["ids"]
    prompts = ingot.file("preempted.jsonl", [{"prompt_ids": ids[i * 9 : i * 9 + 12 + i * 7]} for i in range(5)])
    common = [checkpoint.engines[precision], "--prompts-file", prompts, "--temp", 1, "--seed", 3, "-n", 60, "--ignore-eos",
              "--logprobs", 5, "--context", 128, "--choices", 3]
    wanted = ingot.json_lines("run", *common, "--max-seqs", 1)
    assert wanted[0]["ids"] != wanted[1]["ids"], "two choices are the same"
    page = ingot.json("inspect", checkpoint.engines[precision])["programs"][0]["memory"]["bytes_per_page"]
    for options in (["--max-seqs", 15], ["--max-seqs", 6, "--kv-memory", 6 * page], ["--max-seqs", 6, "--kv-memory", 6 * page, "--swap", 9 * page]):
        for one, other in zip(wanted, ingot.json_lines("run", *common, *options), strict=True):
            assert (one["ids"], one["logprobs"]) == (other["ids"], other["logprobs"]), f"other answers with {options}"


def seeds(ingot, checkpoint, precision):
    """A seed fixes the text, whatever else runs; another seed gives another text. With a bias all logits are read,
    otherwise only those that may be the largest according to the head's panel maxima."""
    prompts = ingot.file("seeds.jsonl", [{"prompt_ids": checkpoint.golden["text"]["ids"][:9]}] * 5)
    engine = checkpoint.engines[precision]
    common = ["--prompts-file", prompts, "--temp", 1, "--top-k", 40, "-n", 12, "--ignore-eos"]
    first = [a["ids"] for a in ingot.json_lines("run", engine, *common, "--seed", 7)]
    again = [a["ids"] for a in ingot.json_lines("run", engine, *common, "--seed", 7, "--max-seqs", 1)]
    other = [a["ids"] for a in ingot.json_lines("run", engine, *common, "--seed", 8)]
    assert first == again, "the same seed gave another text"
    plain = [a["ids"] for a in ingot.json_lines("run", engine, *common, "--seed", 7, "--logit-bias", "0=0")]
    assert first == plain, "other ids with maxima than from all logits"
    assert first != other, "another seed gave the same text"


@contextlib.contextmanager
def other_caches(ingot, checkpoint, name, *options):
    """Compiles an engine of that name with other KV caches, and removes it after use."""
    engine = ingot.work / f"{checkpoint.name}-kv-{name}.ingot"
    ingot("compile", checkpoint.path, "-o", engine, "--quiet", *options)
    checkpoint.engines[name] = engine
    try:
        yield
    finally:
        del checkpoint.engines[name]
        engine.unlink()


def int8_cache(ingot, checkpoint):
    """KV in int8: the same bits in chunks, with any number of threads, and at both CPU levels."""
    with other_caches(ingot, checkpoint, "int8", "--kv", "int8"):
        chunks(ingot, checkpoint, "int8", ["--isa", "avx2", "--max-batch-tokens", 33])


def mixed_caches(ingot, checkpoint):
    """Layers with different cache types, and so different bytes per page: tests everything that moves pages or starts
    in the middle of a sequence."""
    with other_caches(ingot, checkpoint, "mixed", "--target", "cpu:avx2", "--kv", "int4", "--kv", "0-3,26-=bf16", "--kv", "12=int8"):
        chunks(ingot, checkpoint, "mixed", ["--isa", "avx2", "--max-batch-tokens", 33])
        prefixes(ingot, checkpoint, "mixed")
        preempted(ingot, checkpoint, "mixed")


def add(suite, ingot, checkpoint, long):
    if checkpoint.name == "smollm2":
        suite.check("smollm2 KV in int8: chunks, threads, levels", lambda: int8_cache(ingot, checkpoint))
        suite.check("smollm2 KV of several types: chunks, prefixes, preempted, choices", lambda: mixed_caches(ingot, checkpoint))
    for precision in checkpoint.engines if long else ["fast"]:
        if precision not in checkpoint.engines:
            continue
        name = f"{checkpoint.name} {precision}: "
        suite.check(name + "chunks and threads", lambda: chunks(ingot, checkpoint, precision))
        suite.check(name + "batches", lambda: batches(ingot, checkpoint, precision, long))
        if long or checkpoint.name == "smollm2":
            suite.check(name + "ids without logits", lambda: ids_alone(ingot, checkpoint, precision))
        if checkpoint.name == "smollm2":
            suite.check(name + "prefixes found", lambda: prefixes(ingot, checkpoint, precision))
            suite.check(name + "preempted, and choices", lambda: preempted(ingot, checkpoint, precision))
        suite.check(name + "seeds", lambda: seeds(ingot, checkpoint, precision))
