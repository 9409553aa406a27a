"""The rows of the table: what is measured, against whom, and the bar.

To add one, append a Row in `rows()`. Its functions take a measure.Bench and return a measure.Figure; `run.py` calls
them, measures the limits before and after each, and `report.py` computes shares, ratios and verdicts from that.
"""
from dataclasses import dataclass
from functools import partial
from typing import Callable, Optional

from measure import PEER_NAMES, Figure

GIB = 2**30
COMPILE_MEMORY = 1.5e9  # plus twice the largest tensor


@dataclass(frozen=True)
class Bar:
    """`met` takes the row's summary (report.summarise) and returns None if a figure that it needs was not measured."""
    text: str
    met: Callable[[dict], Optional[bool]]


def share(least):
    return Bar(f"≥ {least:.0%} of the limit", lambda s: None if s["share"] is None else s["share"] >= least)


def times(peer, least):
    return Bar(f"≥ {least:g} × {PEER_NAMES[peer]}",
               lambda s: s["ratios"][peer] >= least if peer in s["ratios"] else None)


def best(least):
    return Bar(f"≥ {least:g} × the best peer", lambda s: None if s["best_ratio"] is None else s["best_ratio"] >= least)


def either(one, other):
    def met(s):
        verdicts = [one.met(s), other.met(s)]
        return True if True in verdicts else None if None in verdicts else False
    return Bar(f"{one.text} or {other.text}", met)


def at_most(most, unit):
    return Bar(f"≤ {most:g}{unit}", lambda s: s["value"] <= most)


def at_least(least, unit):
    return Bar(f"≥ {least:g}{unit}", lambda s: s["value"] >= least)


MEMORY = Bar("≤ 1.5 GB + twice the largest tensor",
             lambda s: s["also"]["peak_bytes"] <= COMPILE_MEMORY + 2 * s["also"]["largest_tensor_bytes"])


@dataclass(frozen=True)
class Row:
    name: str  # the argument of --only
    work: str
    unit: str  # "tok/s", "s", "×", "%"
    ingot: Callable
    bars: tuple
    peers: dict  # {"llama": function, …}: its figure for the same work
    limit: Optional[str] = None  # key of the limit that the figure is compared with
    # Bytes or operations per token: times tokens per second, they have the unit of the limit.
    per_token: Optional[Callable] = None
    small: bool = False  # uses SmolLM2: part of --quick
    once: bool = False  # only in the last round

    @property
    def lower_is_better(self):
        return self.unit in ("s", "×")


def peers_of(name, test, kinds, reps=3):
    return {kind: (lambda b, kind=kind: Figure(b.peer(kind, name, test, reps=reps)[0])) for kind in kinds}


def decode(row, work, name, count, bars, kinds, small=False, reps=3):
    return Row(row, work, "tok/s", lambda b: Figure(b.bench(b.engine(name), "-p", 0, "-n", count, "-r", reps)[0]), bars,
               peers_of(name, f"tg{count}", kinds, reps), "mapped_read_GBps", lambda b: b.step_bytes(name) / 1e9, small)


def prefill(row, work, name, bars, kinds, small=False, count=512, reps=3):
    return Row(row, work, "tok/s", lambda b: Figure(b.bench(b.engine(name), "-p", count, "-n", 0, "-r", reps)[0]), bars,
               peers_of(name, f"pp{count}", kinds, reps - 1), "int8_TOPS", lambda b: b.token_operations(name) / 1e12, small)


def parallel(count, reps):
    return Row(f"parallel{count}", f"{count} parallel requests (128 + 64), SmolLM2", "tok/s",
               lambda b: Figure(b.bench(b.engine("smollm2"), "-p", 0, "-n", 0, "--parallel", count, "-r", 3)[0]),
               (best(2.2),),
               peers_of("smollm2", f"parallel{count}", ("llama", "openvino", "vllm"), reps), small=True)


LOW_BITS = {"q2_k": "Q2_K", "q3_k": "Q3_K", "iq4_xs": "IQ4_XS", "mxfp4": "MXFP4", "nf4": "NF4"}


def of_q4_k(name):
    """The rate of a prompt in a format, as a fraction of the rate of Q4_K measured before and after."""
    def measured(b):
        before, own, after = (b.bench(b.engine(each), "-p", 512, "-n", 0, "-r", 3)[0]
                              for each in ("1b-q4_k", name, "1b-q4_k"))
        return Figure(200 * own / (before + after), {"tokens_per_s": own, "q4_k_tokens_per_s": (before + after) / 2})
    return measured


def low_bits():
    """Bars: decoding near the read limit, prompts near the rate of Q4_K."""
    made = []
    for name, work in LOW_BITS.items():
        made.append(decode(f"decode-1b-{name}", f"decode, 1B shape {work}", f"1b-{name}", 64, (share(0.75),),
                           ("llama",) if name != "nf4" else ()))
        made.append(Row(f"prefill-1b-{name}", f"prefill 512, 1B shape {work}: of Q4_K's rate", "%",
                        of_q4_k(f"1b-{name}"), (at_least(85, " %"),), {}))
    return made


# Name, title, and the minimum share of the read limit for a step of one token. The last two are not GGUFs.
FORMATS = {"q4_0": ("Q4_0", 0.95), "q4_1": ("Q4_1", 0.95), "q8_0": ("Q8_0", 0.95), "q4_k": ("Q4_K", 0.95),
           "q5_k": ("Q5_K", 0.95), "q6_k": ("Q6_K", 0.95), "iq4_xs": ("IQ4_XS", 0.95), "mxfp4": ("MXFP4", 0.95),
           "iq3_s": ("IQ3_S", 0.85), "q3_k": ("Q3_K", 0.85), "q2_k": ("Q2_K", 0.85), "bf16": ("BF16", 0.95),
           "int4-g64": ("int4-g64", 0.95), "nf4": ("NF4", 0.85)}
NO_GGUF = ("int4-g64", "nf4")


def formats():
    """--formats: one token, eight sequences and a prompt of 256 in each format of the 1B shape; and, for some formats,
    rows that do not depend on the format."""
    # Only two repetitions, because there are many rows.
    short_decode, short_prefill = partial(decode, reps=2), partial(prefill, count=256, reps=2)
    made = []
    for key, (title, least) in FORMATS.items():
        name, kinds = f"1b-{key}", () if key in NO_GGUF else ("llama", "ik")
        prompt = 1.3 if key in ("q2_k", "q3_k") else 1.6
        made += [
            short_decode(f"decode-{name}", f"decode, {title}", name, 32,
                 (share(least), *([times("ik", 1.05)] if kinds else [])), kinds),
            Row(f"batch8-{name}", f"8 sequences, {title}", "tok/s",
                eight(lambda b, name=name: b.bench(b.engine(name), "-p", 0, "-n", 24, "--batch", "1,8", "-r", 2)),
                (STEP_OF_8, *([times("ik", 1.5)] if kinds else [])), peers_of(name, "tg24 @ b8", kinds, reps=1)),
            short_prefill(f"prefill-{name}", f"prefill 256, {title}", name, (times("ik", prompt),) if kinds else (), kinds)]
    made.append(Row("deep-decode-1b-q4_k", "decode behind 8,192 positions, Q4_K", "tok/s",
                    lambda b: Figure(b.bench(b.engine("1b-q4_k"), "-p", 0, "-n", 16, "-d", 8192, "--context", 16384,
                                             "-r", 1)[0]),
                    (times("ik", 1.5),), peers_of("1b-q4_k", "tg16 @ d8192", ("ik",)), once=True))
    for name, title in (("smollm2", "SmolLM2 Q4_1"), ("gemma3", "Gemma3 270M Q4_K_M")):
        made += [short_decode(f"decode-{name}", f"decode, {title}", name, 128, (times("ik", 1.05),), ("llama", "ik")),
                 short_prefill(f"prefill-{name}", f"prefill 256, {title}", name, (times("ik", 1.6),), ("llama", "ik"))]
    for name, title, count in (("smollm2", "SmolLM2", 8), ("smollm2", "SmolLM2", 32), ("1b-q4_k", "Q4_K", 8),
                               ("1b-q4_k", "Q4_K", 32)):
        made.append(Row(f"parallel{count}-{name}", f"{count} parallel requests (128 + 64), {title}", "tok/s",
                        lambda b, name=name, count=count: Figure(b.bench(b.engine(name), "-p", 0, "-n", 0, "--parallel",
                                                                         count, "-r", 1)[0]),
                        (times("ik", 1.5),), peers_of(name, f"parallel{count}", ("ik",)), once=True))
    name, title = "7b-a1b-qwen3moe-q4_0", "7B-A1B shape of 64 experts Q4_0"  # ik_llama.cpp has no OLMoE
    # Several sequences are not compared: llama-batched-bench decodes the same id in all of them, which go to the same
    # experts.
    made += [short_decode(f"decode-{name}", f"decode, {title}", name, 32, (times("ik", 1.05),), ("ik",)),
             short_prefill(f"prefill-{name}", f"prefill 256, {title}", name, (times("ik", 1.6),), ("ik",))]
    return made


def experts(name, work):
    """A prompt, decoding and eight sequences of a mixture of experts."""
    return [decode(f"decode-{name}", f"decode, {work}", name, 64, (share(0.8), times("llama", 1.2)), ("llama",)),
            prefill(f"prefill-{name}", f"prefill 512, {work}", name, (times("llama", 2),), ("llama",)),
            Row(f"parallel8-{name}", f"8 parallel requests (128 + 64), {work}", "tok/s",
                lambda b: Figure(b.bench(b.engine(name), "-p", 0, "-n", 0, "--parallel", 8, "-r", 2)[0]),
                (times("llama", 2),),
                peers_of(name, "parallel8", ("llama",), reps=1))]


def deep_prefill(kv):
    def measured(b):
        # Measures at the start, at depth, and at the start again, because the machine's speed changes from minute to
        # minute.
        before, deep, after = b.bench(b.engine("1b-q4_0", kv), "-p", 512, "-n", 0, "-d", "0,8192,0", "--context",
                                      32768, "-r", 1)
        return Figure(200 * deep / (before + after),
                      {"start_tokens_per_s": (before + after) / 2, "deep_tokens_per_s": deep})
    return Row(f"deep-prefill-{kv}", f"prefill 512 with 8,192 in {kv} KV, 1B Q4_0: rate kept", "%", measured,
               (at_least(65, " %"),), {})


STEP_OF_8 = Bar("a step ≤ 1.15 × that of one", lambda s: s["also"]["step_over_one"] <= 1.15)


def eight(step):
    """Tokens per second of 8 sequences, and the time of their step divided by that of one sequence."""
    def measured(b):
        one, all_eight = step(b)
        return Figure(all_eight, {"one_tokens_per_s": one, "step_over_one": 8 * one / all_eight})
    return measured


def wider(step):
    """The time of a step of 8 sequences divided by that of 1."""
    def measured(b):
        one, eight = step(b)
        return Figure(8 * one / eight, {"one_tokens_per_s": one, "eight_tokens_per_s": eight})
    return measured


def start(row, work, name, most, small=False):
    return Row(row, work, "s", lambda b: b.first_token(name), (at_most(most, " s"),), {}, small=small)


def compiled(row, work, model, arguments, most, small=False, once=False):
    return Row(row, work, "s", lambda b: b.compile(model(b), *arguments), (at_most(most, " s"), MEMORY), {},
               small=small, once=once)


def rows(bench):
    one_b = (share(0.88), either(times("llama", 1.05), share(0.93)))
    config = lambda shape: lambda b: b.config(shape) / "config.json"
    return [
        decode("decode-1b-q4_0", "decode, 1B shape Q4_0", "1b-q4_0", 64, one_b, ("llama", "vllm")),
        decode("decode-1b-q8_0", "decode, 1B shape Q8_0", "1b-q8_0", 64, one_b, ("llama",)),
        decode("decode-smollm2", "decode, SmolLM2 Q4_1", "smollm2", 128,
               (share(0.72), times("llama", 1.8), times("openvino", 2.4)),
               ("llama", "openvino", "vllm"), small=True),
        decode("decode-gemma3", "decode, Gemma3 270M Q4_K_M", "gemma3", 128, (times("llama", 1.5),), ("llama",)),
        prefill("prefill-1b-q4_0", "prefill 512, 1B shape Q4_0", "1b-q4_0", (share(0.68), times("llama", 2.2)),
                ("llama", "vllm")),
        prefill("prefill-smollm2", "prefill 512, SmolLM2 Q4_1", "smollm2",
                (share(0.5), times("llama", 8), times("openvino", 1.15)),
                ("llama", "openvino", "vllm"), small=True),
        *low_bits(),
        *experts("7b-a1b-q4_0", "7B-A1B shape of 64 experts Q4_0"),
        *[deep_prefill(kv) for kv in bench.kv_types()],
        parallel(8, reps=2),
        parallel(32, reps=1),
        Row("batch8", "step of 8 sequences against 1, 1B shape Q4_0: time", "×",
            wider(lambda b: b.bench(b.engine("1b-q4_0"), "-p", 0, "-n", 32, "--batch", "1,8", "-r", 3)),
            (at_most(1.25, " ×"),),
            {"llama": wider(lambda b: b.peer("llama", "1b-q4_0", "tg32", "tg32 @ b8", reps=2))}),
        start("start-135m", "start to first token, SmolLM2", "smollm2", 0.15, small=True),
        start("start-1b", "start to first token, 1B shape Q4_0", "1b-q4_0", 0.6),
        compiled("compile-135m", "compile, SmolLM2 Q4_1", lambda b: b.checkpoint("smollm2"), (), 3, small=True),
        compiled("compile-1b", "compile, 1B shape Q4_0", lambda b: b.checkpoint("1b-q4_0"), (), 15),
        compiled("compile-8b", "compile, 8B shape, random int4-g32", config("8b"),
                 ("--weights", "random", "--quantize", "int4-g32"), 90,
                 once=True),
    ]
