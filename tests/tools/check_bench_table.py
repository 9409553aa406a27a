"""Tests the table of `dev bench` with invented samples:  check_bench_table.py TESTS_BENCH PAGE_TO_WRITE"""
import pathlib
import re
import sys

bench, page = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(bench))
sys.path.insert(0, str(bench / "peers"))
import measure  # noqa: E402
import picture  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402
import run  # noqa: E402


def figure(value, before=None, after=None, **also):
    limits = [None if gb is None else {"mapped_read_GBps": gb, "int8_TOPS": 1.0} for gb in (before, after)]
    return {"value": value, "also": also, "before": limits[0], "after": limits[1]}


def sample(**figures):
    return {"figures": figures}


# A machine whose speed halves in the second round: fractions and ratios are computed within
# a round, so both rounds agree.
decode = rows.decode("d", "decode", "m", 64, (rows.share(0.88), rows.either(rows.times("llama", 1.05), rows.share(0.93))), ("llama",))
fast = sample(ingot=figure(90.0, 42.0, 38.0), llama=figure(75.0, 38.0, 40.0))
slow = sample(ingot=figure(45.0, 20.0, 20.0), llama=figure(37.5, 20.0, 20.0))
got = report.summarise(decode, 0.4, [fast, slow])
assert got["shares"] == [0.9, 0.9] and abs(got["share"] - 0.9) < 1e-12, got
assert got["ratios"] == {"llama": 1.2} and got["best_ratio"] == 1.2, got
assert (got["value"], got["least"], got["most"]) == (67.5, 45.0, 90.0), got
assert [bar["met"] for bar in got["bars"]] == [True, True] and report.verdict(got["bars"]) == "yes", got

# An "either" bar is met if one half is met, and unknown only while the missing half could decide it.
near = report.summarise(decode, 0.4, [sample(ingot=figure(94.0, 40.0, 40.0), llama=figure(94.0, 40.0, 40.0))])
assert [bar["met"] for bar in near["bars"]] == [True, True], near
alone = report.summarise(decode, 0.4, [sample(ingot=figure(90.0, 40.0, 40.0))])
assert [bar["met"] for bar in alone["bars"]] == [True, None] and report.verdict(alone["bars"]) == "?", alone
unknown = report.summarise(decode, 0.4, [sample(ingot=figure(90.0))])
assert unknown["share"] is None and [bar["met"] for bar in unknown["bars"]] == [None, None], unknown
below = report.summarise(decode, 0.4, [sample(ingot=figure(80.0, 40.0, 40.0))])
assert report.verdict(below["bars"]) == "**no**", below

# The best peer is chosen per round. A ratio above 1 means that Ingot is better, even if less is better.
many = report.summarise(rows.parallel(8, 1), None, [sample(ingot=figure(220.0), llama=figure(50.0), openvino=figure(100.0)),
                                                    sample(ingot=figure(220.0), llama=figure(110.0), openvino=figure(80.0)),
                                                    sample(ingot=figure(300.0), llama=figure(100.0))])
assert many["best_ratio"] == 2.2 and many["bars"][0]["met"] is True, many
assert many["ratios"] == {"llama": 3.0, "openvino": (2.2 + 2.75) / 2}, many
step = rows.Row("b", "batch", "×", None, (rows.at_most(1.25, " ×"),), {})
assert report.summarise(step, None, [sample(ingot=figure(2.0), llama=figure(3.0))])["ratios"] == {"llama": 1.5}

# Memory: the limit is 1.5 GB plus twice the largest tensor.
small, large = ([bar["met"] for bar in report.summarise(
    rows.compiled("c", "compile", None, (), 3), None,
    [sample(ingot=figure(2.0, peak_bytes=peak, largest_tensor_bytes=3e8))])["bars"]] for peak in (2.1e9, 2.2e9))
assert (small, large) == ([True, True], [True, False]), (small, large)

# A round: limits are measured around every contestant, the order is reversed in every other round, and a failing
# peer is named while the others stay.
class FakeBench:
    peers = {"llama": None, "openvino": None}
    def __init__(self): self.seen = []
    def limits(self):
        self.seen.append("limits")
        return {"mapped_read_GBps": float(len(self.seen)), "int8_TOPS": 1.0}


def contestant(name, fails="openvino"):
    def measured(fake):
        fake.seen.append(name)
        if name == fails:
            raise measure.Failed("it does not\nload")
        return measure.Figure(1.0)
    return measured


row = rows.Row("r", "work", "tok/s", contestant("ingot"), (), {peer: contestant(peer) for peer in ("llama", "openvino", "vllm")})
fake, missing = FakeBench(), {}
round_ = run.measure_row(fake, row, False, missing)["figures"]
assert fake.seen == ["limits", "ingot", "limits", "llama", "limits", "openvino", "limits"], fake.seen
assert round_["ingot"]["before"]["mapped_read_GBps"] == 1 and round_["ingot"]["after"] == round_["llama"]["before"], round_
assert sorted(round_) == ["ingot", "llama"] and missing == {"work, OpenVINO GenAI": "load"}, (round_, missing)
fake = FakeBench()
run.measure_row(fake, row, True, {})
assert [name for name in fake.seen if name != "limits"] == ["openvino", "llama", "ingot"], fake.seen
assert run.measure_row(FakeBench(), rows.Row("r", "work", "tok/s", contestant("ingot", "ingot"), (), {}), False, missing) is None
assert missing["work, Ingot"] == "load", missing

# The table: each line has as many cells as the header.
results = {"machine": "M", "date": "2026-01-02", "ingot": "ingot 1", "rounds": 2, "missing": ["x, y: z"], "rows": [got, many, alone],
           "limits": {"mapped_read_GBps": [20.0, 42.0, 38.0], "int8_TOPS": [1.0, 1.0, 1.0]}}
text = report.table(results)
lines = [line for line in text.splitlines() if line.startswith("|")]
assert len({line.count("|") for line in lines}) == 1 and len(lines) == 5, text
assert "mapped read 38.0 GB/s (20.0–42.0)" in text and "90% of read" in text and "Not measured: x, y: z" in text, text
assert re.search(r"\| decode \| 67\.5 \| 45\.0–90\.0 \| 56\.2 \(1\.20\) \|", text), text

# The page: the text between the markers is replaced and the rest stays; without markers nothing is written.
begin, end = report.MARKERS
page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
report.write_between(page, text, begin, end)
report.write_between(page, text, begin, end)
assert page.read_text() == f"before\n{begin}\n{text.strip()}\n{end}\nafter\n", page.read_text()
page.write_text("no markers")
try:
    report.write_between(page, text, begin, end)
    raise AssertionError("a page without markers was written")
except ValueError:
    assert page.read_text() == "no markers"
real = (bench.parent.parent / "docs" / "benchmarks.md").read_text()
for marker in (*report.MARKERS, *report.FORMATS_MARKERS):
    assert real.count(marker) == 1, f"docs/benchmarks.md has lost {marker}"

# Geometric means over several rows of a kind, per peer.
two = [{**got, "name": f"decode-{i}", "ratios": {"llama": ratio}} for i, ratio in enumerate((1.0, 4.0))]
assert "Geometric means, decode: 2.00 × llama.cpp (2 rows)." in report.table({**results, "rows": two}), two

# The picture: a bar per contestant and kind, with a length that matches its figure; a run
# without one of the rows has no picture.
def kind(name, **peers): return {"name": name, "value": 400.0, "peers": peers}
pictured = {**results, "rows": [kind("decode-smollm2", llama=100.0), kind("prefill-smollm2", llama=50.0, openvino=200.0), kind("parallel8"),
                                kind("parallel32", openvino=800.0)]}
drawn = picture.svg(pictured)
widths = [float(width) for width in re.findall(r'<rect class="\w+" x="\d+" y="\d+" width="([\d.]+)"', drawn)]
most = picture.WIDTH - picture.LABEL - picture.ROOM
assert widths == [most, most / 4, most, most / 8, most / 2, most, most / 2, most], widths
assert drawn.count('class="ingot"') == 4 and "M; 2026-01-02; ingot 1" in drawn, drawn
try:
    picture.svg(results)
    raise AssertionError("a picture without its rows was drawn")
except ValueError as error:
    assert "decode-smollm2" in str(error), error

# Servers have ratios within a round, and the median over the rounds. A bar on a server without a figure stays open.
# Both verdicts occur.
import serving  # noqa: E402

loads = {load.name: load for group in serving.GROUPS for load in group.loads}
def served(ingot, peer, ttft): return {"users32": {"Ingot": dict(tokens_per_s=ingot, ttft_p50=1.0, ttft_p99=ttft, itl_p50=1.0, itl_p99=2.0),
                                                   "llama.cpp": dict(tokens_per_s=peer, ttft_p50=1.0, ttft_p99=900.0, itl_p50=1.0, itl_p99=2.0)},
                                       "ready": {"Ingot": 0.1, "llama.cpp": 0.5}}
rounds = [served(800.0, 100.0, 200.0), served(300.0, 30.0, 280.0)]
llama, vllm, first = loads["users32"].bars
assert serving.verdict(llama, rounds, "users32") == ("≥ 8 × llama.cpp: 9.00, yes", True)
assert serving.verdict(vllm, rounds, "users32")[1] is None and serving.verdict(first, rounds, "users32")[1] is None
for sample, ttft in zip(rounds, (600.0, 1200.0)):
    sample["users32"]["vLLM bf16"] = dict(tokens_per_s=250.0, ttft_p99=ttft)
assert serving.verdict(vllm, rounds, "users32")[1] is False, serving.verdict(vllm, rounds, "users32")
assert serving.verdict(first, rounds, "users32") == ("TTFT p99 ≤ a third of the better peer's: 0.32, yes", True)
rounds[0]["overload"] = {"Ingot": dict(tokens_per_s=1.0, times=1.1, refused_most=60.0, refused=5)}
assert [serving.verdict(bar, rounds, "overload")[1] for bar in loads["overload"].bars] == [False, True]
text = serving.table({"machine": "M", "date": "D", "ingot": "I", "samples": rounds, "missing": {"1 user, vLLM bf16": "why"}})
assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1 and "5 refused" in text and "Not measured: 1 user, vLLM bf16: why" in text, text
for marker in serving.MARKERS:
    assert real.count(marker) == 1, f"docs/benchmarks.md has lost {marker}"
