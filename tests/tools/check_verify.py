"""check_verify.py INGOT TINY CHECKPOINT FOLDER: `compile --verify` passes for every tiny checkpoint, unmodified
and with each of the ways to round in turn, and reports the cost: in an engine's evidence, more for int4 than
for int8, zero where nothing is rounded."""
import json
import pathlib
import subprocess
import sys

ingot, tiny, checkpoint, folder = sys.argv[1:]
options = [[], ["--precision", "exact"], ["--quantize", "int8"], ["--quantize", "int4-g32"], ["--quantize", "fp8"]]
for number, model in enumerate(sorted(path for path in pathlib.Path(tiny).iterdir() if path.is_dir())):
    for given in ([], options[1 + number % 4]):
        command = [ingot, "compile", str(model / "model.gguf") if "gguf" in model.name else str(model), "--verify", "--emit", "fused"]
        done = subprocess.run(command + given, capture_output=True, text=True)
        assert done.returncode == 0, (model.name, given, done.stderr)


def evidence(*given):
    engine = str(pathlib.Path(folder, "verified.ingot"))
    command = [ingot, "compile", checkpoint, "-o", engine, "--target", "cpu:avx2", "--verify", *given]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    rows = json.loads(subprocess.run([ingot, "inspect", engine, "--evidence", "--json"], capture_output=True, check=True).stdout)["evidence"]
    judged = [row for row in rows if row["pass"] == "all passes over lm"]
    assert len(judged) == 1 and judged[0]["max_rel"] <= 1e-4, rows
    assert judged[0]["inputs"].endswith("the checkpoint's weights; allowed 0.0001"), judged
    cost = [row for row in rows if row["pass"] == "formats of weights"]
    assert ("rounding weights changes logits by up to" in told) == bool(cost), told
    if not cost:
        return 0
    assert cost[0]["inputs"].endswith("the checkpoint's weights rounded to their formats; measured, not judged"), cost
    return cost[0]["max_rel"]


exact, bf16, int8, int4 = evidence("--precision", "exact"), evidence(), evidence("--quantize", "int8"), evidence("--quantize", "int4-g32")
assert exact == 0 < bf16 < int8 < int4, (exact, bf16, int8, int4)
