"""Makes, unpacks and runs the bundle on the emulator: our programs with tiny shapes, through every script.

    dry_run.py BIN-FOLDER

This finds the scripts' bugs before they run on a GPU. Torch and triton are stubs (tests/gpu/stub), and so is the
driver library that ceilings.py uses.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import nvrtc
import report

# Parts that may fail because this machine lacks their tool.
MAY_MISS = {"compute-sanitizer", "nvidia-smi"}


def run(*command, **options):
    start = time.monotonic()
    done = subprocess.run([str(word) for word in command], text=True, **options)
    print(f"{pathlib.Path(command[0]).name}: {time.monotonic() - start:.0f} s, exit {done.returncode}", flush=True)
    return done


def main(programs):
    start, bin_folder = time.monotonic(), pathlib.Path(programs).resolve()
    packages = [str(path) for path in bin_folder.parent.glob("venv/lib/python*/site-packages")]
    sys.path += packages  # NVRTC
    try:
        nvrtc.Nvrtc()
    except OSError as problem:
        print(f"skipped: {problem}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(HERE / "stub")}
        run(HERE / "bundle.sh", "--dry-run", bin_folder / "ingot", work / "made", check=True)
        (work / "there").mkdir()
        run(work / "made" / "unpack.py", work / "made" / "ingot-gpu.tar.zst", work / "there", check=True)
        bundle, results = work / "there" / "ingot-gpu", work / "results.jsonl"
        compiler, library = os.environ.get("CC", "cc"), work / "libcuda-stub.so"
        run(compiler, "-shared", "-fPIC", "-o", library, HERE / "stub" / "libcuda.c", check=True)
        # The time limits are for a GPU; here two processors may be shared with other tests.
        options = ["--torch-device", "cuda", "--libcuda", library, "--patience", 10, "--budget", 850]
        done = run(bundle / "run.py", "--dry-run", "--results", results, *options, env=environment)
        text = run(bundle / "report.py", results, check=True, stdout=subprocess.PIPE).stdout
        print(text)
        lines, broken = report.read(results.read_text())
        found = report.Run(lines)
        ends = {part: end and end["end"] for part, end in found.ends().items()}
        assert broken == 0 and done.returncode == 0, "the run failed"
        assert set(ends) == set(report.PARTS) and set(ends.values()) == {"done"}, ends
        assert "Nothing failed." in text, "something is wrong"
        assert {line["missing"] for line in lines if "missing" in line} <= MAY_MISS
        figures(found)
        sweep(bundle, work / "sweep.jsonl", {**environment, "PYTHONPATH": os.pathsep.join(packages)})
        print(f"{json.dumps({'dry_run_minutes': round((time.monotonic() - start) / 60, 2)})}")


def sweep(bundle, rows, environment):
    """Runs sweep.py as far as it goes without a device: it compiles the kernels in the bundle."""
    options = ["--dry-run", "--kernels", "*-o", "--tokens", 8, "--knob", "INGOT_DEPTH=2", "--out", rows]
    run(bundle / "sweep.py", bundle / "kernels", *options, env=environment, check=True)
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert found and not any(row["error"] for row in found), found


def figures(found):
    """Checks that each part has the data for its tables."""
    replayed = [line["summary"] for line in found.printed("replay") if isinstance(line.get("summary"), dict)]
    assert replayed and replayed[0]["launches"] > 0 and replayed[0]["failed"] == 0, replayed
    assert found.printed("check"), "nothing was checked"
    ways = {line["way"]: line for line in found.of("answers") if "different" in line}
    assert set(ways) == {"graphs, again and again", "full edges", "launches", "trace", "side by side"}, set(ways)
    assert all(line["different"] == 0 for line in ways.values())
    loads = [line for line in found.printed("serve") if "output_throughput" in line]
    assert loads and all(line["completed"] == 4 and line["failed"] == 0 for line in loads), loads
    assert any(line.get("server", {}).get("ttft_ms", 0) > 0 for line in found.of("serve")), "the server's clocks"
    roles = {report.role_of(line["kernel"]) for line in found.kernels("tiny-int4")}
    assert roles >= {*report.PRODUCTS, "attention"}, roles
    for key in ("tokens", "launches", "edges", "bytes", "gb_s", "flops", "tflops", "bound_us", "of_bound"):
        assert all(key in line for line in found.kernels("tiny-int4")), key
    assert {line["edges"] for line in found.printed("kernels") if "edges" in line} >= {"programmatic", "full"}
    assert any(
        isinstance(line["line"].get("step"), dict) and line["line"]["step"].get("us_step_graph", 0) > 0
        for line in found.printed("kernels")), "a step"
    assert {line["test"] for line in found.printed("bench")} == {"pp70", "tg2", "tg2 @ d16 @ b2", "tg2 @ d16 @ b3"}
    assert {line["knob"] for line in found.printed("knobs")} == {"as it is", "full edges", "launches", "carveout 100"}
    assert {line.get("peer")
            for line in found.printed("peers")} >= {"torch.mm", "torch._scaled_mm", "torch sdpa", "triton gemv"}
    assert {line.get("ceiling") for line in found.printed("ceilings")} >= {"device", "copy", "read", "clusters"}


if __name__ == "__main__":
    main(sys.argv[1])
