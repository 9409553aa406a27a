"""Tests the bundle's scripts without a GPU and without our programs (dry_run.py uses those): a whole run of the real
plan with stubs, programs that hang and die, and reports of invented lines.

    scripts_test.py [--compiler CC] [TEST…]
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import parts
import report
import runner
import unpack

PREDICTIONS = json.loads((HERE / "predictions.json").read_text())


def script(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)


def bundle(folder):
    """A folder as bundle.sh makes it, with stubs instead of programs and engines."""
    for name in ("bin", "lib", "engines", "launches"):
        (folder / name).mkdir(parents=True)
    for file in [*HERE.glob("*.py"), HERE / "predictions.json"]:
        (folder / file.name).write_bytes(file.read_bytes())
    for name in ("ingot", "replay-launches", "check-kernels"):
        script(folder / "bin" / name, f"#!{sys.executable}", (HERE / "stub" / "ingot.py").read_text())
    plan = parts.FULL
    for name in {
            *plan.answers, *plan.beside_cpu, *plan.checked, plan.served,
            *(engine for engine, _ in (*plan.kernels, *plan.bench, *plan.knobs))
    }:
        (folder / "engines" / f"{name}.ingot").touch()
    (folder / "launches" / "Rows.bin").touch()
    (folder / "ceilings.cubin").write_bytes(b"\x7fELF")
    return folder


def libcuda(folder):
    library = folder / "libcuda-stub.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, HERE / "stub" / "libcuda.c"], check=True)
    return library


class WholeRun(unittest.TestCase):
    """run.py with the plan for GPUs."""
    def run_it(self, *options, faults=""):
        with tempfile.TemporaryDirectory() as work:
            folder, results = bundle(pathlib.Path(work) / "ingot-gpu"), pathlib.Path(work) / "results.jsonl"
            environment = {
                **os.environ, "PYTHONPATH": str(HERE / "stub"), "STUB_FAULTS": faults, "PYTHONDONTWRITEBYTECODE": "1"
            }
            done = subprocess.run([
                sys.executable, folder / "run.py", "--results", results, "--libcuda",
                libcuda(pathlib.Path(work)), *options
            ],
                                  env=environment,
                                  capture_output=True,
                                  text=True)
            self.assertTrue(results.exists(), done.stderr)
            lines, broken = report.read(results.read_text())
            self.assertEqual(broken, 0)
            return report.Run(lines), done, report.report(results.read_text(), PREDICTIONS)

    def test_every_part_runs_and_is_reported(self):
        run, done, text = self.run_it()
        ends = {part: end["end"] for part, end in run.ends().items()}
        # One launch in the stub's replay is wrong; the sanitizer may or may not be installed.
        self.assertEqual({part for part, end in ends.items() if end != "done"}, {"replay"}, (ends, done.stderr, text))
        self.assertEqual(done.returncode, 1)
        self.assertIn("replay: bad: test T, equal no, memory y, worst 0.50", text)
        self.assertNotIn("Traceback", done.stderr)
        missing = next((line for line in text.splitlines() if line.startswith("Not measured")), "")
        self.assertEqual(missing, "", "every prediction has its figure in a whole run")
        for words in ("| 8b-int4, 1 tokens at 128, programmatic | 1,610 | 2,000 | +24% | 9 | 4,000 | +100% |",
                      "| 8b-int4, 1 tokens at 128: gate_up | 400 | 320 |",
                      "clusters of 4 blocks of 224 KB at once | 33 |",
                      "8b-int4: the nearest to its limit has 5% of it: residual_0_t8, 7 tokens",
                      "| 8b-fp8-kv8, 256 users, 1000 in, 1000 out | 7,000 |", "### 8b, torch.mm",
                      "| 8b-int4, tg128 @ b1 | 250 | 250 (+0.0%) |"):
            self.assertIn(words, text)
        self.assertEqual(run.printed("peers")[0]["torch"], "stub")
        self.assertFalse([line for line in run.printed("peers") if "error" in line["line"]])

    def test_what_hangs_or_dies_costs_itself_alone(self):
        start = time.monotonic()
        run, done, text = self.run_it("--only",
                                      "check",
                                      "--only",
                                      "answers",
                                      "--patience",
                                      "0.25",
                                      faults="hang:8b-fp8-kv8.ingot,die:8b-fp8.ingot,ids")
        self.assertLess(time.monotonic() - start, 90)
        self.assertEqual([line["end"] for line in run.of("check") if "command" in line and "end" in line],
                         ["done", "timeout", "done", "done"])
        self.assertTrue(run.printed("check", engine="8b-fp8-kv8"), "what it printed before it hung is there")
        self.assertTrue([
            line for line in run.of("answers", engine="8b-fp8") if line.get("end") == "failed" and line["exit"] == -11
        ])
        self.assertTrue([
            line for line in run.of("answers", engine="8b-int4", way="trace")
            if line.get("different") == 1 and line["at"] == 2
        ])
        self.assertIn("check, 8b-fp8-kv8: timeout", text)
        self.assertIn("answers, 8b-fp8 full edges: failed", text)
        self.assertIn("answers: 8b-int4, trace: 1 of 1 differ from the first, from id 2 on", text)

    def test_a_run_that_is_killed_leaves_its_lines(self):
        with tempfile.TemporaryDirectory() as work:
            folder, results = bundle(pathlib.Path(work) / "ingot-gpu"), pathlib.Path(work) / "results.jsonl"
            command = [sys.executable, folder / "run.py", "--results", results, "--only", "check"]
            environment = {**os.environ, "STUB_FAULTS": "hang:check"}
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
            over, printed = time.monotonic() + 60, []
            while not printed and time.monotonic() < over:
                time.sleep(0.05)
                lines, _ = report.read(results.read_text() if results.exists() else "")
                printed = report.Run(lines).printed("check")
            process.kill()
            process.wait()
            self.assertTrue(printed, "a line of a program that still runs")
            os.kill(printed[0]["process"], signal.SIGKILL)

    def test_no_time_is_said(self):
        run, _, text = self.run_it("--budget", "3", "--only", "bench", "--only", "knobs")
        self.assertEqual([end["end"] for end in run.ends().values()], ["skipped", "skipped"])
        self.assertIn("**bench**: skipped", text)


class Commands(unittest.TestCase):
    def run_one(self, code, limit=20.0, **fields):
        with tempfile.TemporaryFile("w+") as file:
            one = runner.Runner(file, 30)
            ended = one.command("c", [sys.executable, "-c", code], limit=limit, **fields)
            file.seek(0)
            return ended, [json.loads(line) for line in file]

    def test_lines_are_written_as_they_come(self):
        ended, lines = self.run_one("import time; print('{\"part\": 1, \"a\": 2}', flush=True); time.sleep(60)",
                                    limit=1.5,
                                    engine="e")
        self.assertEqual(ended.end, "timeout")
        self.assertEqual(lines[0], {"command": "c", "engine": "e", "line": {"part": 1, "a": 2}})
        self.assertEqual(lines[1]["end"], "timeout")

    def test_text_and_exit_code_of_what_fails(self):
        ended, lines = self.run_one(
            "import sys; print('[{\"a\": 1}, {\"a\": 2}]'); print('words'); print('why', file=sys.stderr); sys.exit(3)"
        )
        self.assertEqual((ended.end, ended.exit, ended.text, ended.error), ("failed", 3, "words\n", "why\n"))
        self.assertEqual([line["line"]["a"] for line in lines[:2]], [1, 2])

    def test_children_of_a_child_end_with_it(self):
        code = ("import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
                "print(p.pid, flush=True); p.wait()")
        ended, _ = self.run_one(code, limit=1.5)
        time.sleep(0.2)
        pid = int(ended.text)
        state = pathlib.Path(f"/proc/{pid}/stat")
        self.assertTrue(not state.exists() or state.read_text().rsplit(")")[1].split()[0] == "Z")


def line(part, **fields):
    return json.dumps({"part": part, **fields})


def tg(engine, us, sequences=1, depth=0):
    return line("bench",
                command="c",
                engine=engine,
                line={
                    "test": "tg", "prompt": 0, "new": 128, "depth": depth, "sequences": sequences,
                    "tokens_per_s": 1e6 * sequences / us
                })


class Reports(unittest.TestCase):
    def report(self, *lines):
        return report.report("\n".join(lines), PREDICTIONS)

    def test_a_miss_is_named_with_its_direction(self):
        text = self.report(tg("8b", 6000), tg("1b", 500), tg("8b-fp8", 2300))
        self.assertIn("- 8B bf16, batch 1: 6,000 us a step, predicted 3,800-4,100: +46%, worse", text)
        self.assertIn("- 1B bf16, batch 1: 500 us a step, predicted 700-830: -29%, better", text)
        self.assertRegex(text, r"\| 8B fp8, batch 1 \| 2,250-2,500 \| us a step \| 2,300 \| within")
        self.assertNotIn("- 8B fp8, batch 1", text)

    def test_a_miss_of_a_quarter_is_none_yet(self):
        self.assertIn("None missed", self.report(tg("8b", 4100 * 1.24)))
        self.assertIn("+26%, worse", self.report(tg("8b", 4100 * 1.26)))

    def test_what_is_missing_is_named(self):
        text = self.report(line("run", parts=["bench", "knobs", "peers"]), tg("8b", 4000),
                           line("bench", end="done", seconds=3),
                           line("peers", end="skipped", why="this python3 has no torch"), '{"part": "kno')
        self.assertIn("**knobs**: not in the file", text)
        self.assertIn("**peers**: skipped: this python3 has no torch", text)
        self.assertIn("1 lines of the file are none", text)
        self.assertRegex(text, r"Not measured \(48\): 1B bf16, batch 1; 8B fp8, batch 1;")

    def test_nothing_at_all(self):
        self.assertIn("Not measured (49)", self.report(""))

    def test_sums_and_rates_of_kernels(self):
        def kernel(name, tokens, us, launches, context=None, edges="programmatic"):
            return line("kernels",
                        command="8b",
                        engine="8b",
                        line={
                            "kernel": name, "tokens": tokens, "context": context, "us": us, "launches": launches,
                            "edges": edges, "flops": us * 500e6, "tflops": 500, "gb_s": 1, "of_bound": 0.5
                        })

        names = (("projections_0", 32), ("residual_0", 32), ("gate_up_0", 32), ("residual_1", 32), ("linear_0", 1))
        lines = [kernel(name, 2048, 100, launches) for name, launches in names]
        lines += [kernel(name, 64, 60, launches)
                  for name, launches in names] + [kernel("projections_0", 64, 1000, 32, edges="full")]
        lines += [kernel("attention_0", 8192, 900, 32, 8192)]
        text = self.report(*lines)
        self.assertIn("| bf16 products, 2,048 tokens | 430-560 | TFLOPS | 500 | within", text)
        self.assertIn("| 8B bf16, 64 tokens: products of a step | 8,500-10,000 | us | 7,740 | -9%", text)
        self.assertIn("- attention of prompts, 8,192 tokens: 500 TFLOPS, predicted 120-180: +178%, better", text)

    def test_lost_symbols_and_failed_commands(self):
        text = self.report(
            line("replay",
                 command="all launches",
                 line={"symbol": "a_split", "launches": 7, "error": "killed after 20 s"}),
            line("serve",
                 command="64 users",
                 end="failed",
                 exit=4,
                 seconds=2,
                 error="x\nerror[E0591]: no request was answered"))
        self.assertIn("replay: a_split: killed after 20 s", text)
        self.assertIn("serve, 64 users: failed after 2 s, exit 4: error[E0591]: no request was answered", text)

    def test_predictions_ask_for_what_the_plan_runs(self):
        plan = parts.FULL
        kernels_of, bench_of = {}, {}
        for engine, options in plan.kernels:
            words = options.split()
            kernels_of.setdefault(engine, set()).update(
                int(count) for count in words[words.index("--tokens") + 1].split(","))
        for engine, options in plan.bench:
            words = options.split()
            get = lambda name, default: [
                int(one) for one in (words[words.index(name) + 1] if name in words else default).split(",")
            ]
            for depth in get("--depth", "0"):
                bench_of.setdefault(engine, set()).update((prompt, 1, depth) for prompt in get("-p", "512") if prompt)
                bench_of[engine].update((0, batch, depth) for batch in get("--batch", "1"))
        for one in PREDICTIONS["predictions"]:
            source = one["from"]
            self.assertLessEqual(one["low"], one["high"])
            if source["part"] == "kernels":
                self.assertIn(source["tokens"], kernels_of[source["engine"]])
            if source["part"] == "bench":
                self.assertIn((source["prompt"], source.get("sequences", 1), source["depth"]),
                              bench_of[source["engine"]], one["name"])
            if source["part"] == "serve":
                self.assertIn((source["users"], source["prompt"], source["new"]),
                              [(users, prompt, new) for users, _, prompt, new in plan.loads])


class Unpacking(unittest.TestCase):
    def test_by_program_and_by_library(self):
        data = bytes(range(256)) * 5000
        with tempfile.TemporaryDirectory() as work:
            file = pathlib.Path(work) / "f"
            file.write_bytes(data)
            subprocess.run(["zstd", "-q", "--long=27", file, "-o", f"{file}.zst"], check=True)
            packed = pathlib.Path(f"{file}.zst").read_bytes()
        for way in (unpack.by_program, unpack.by_library):
            self.assertEqual(unpack.unpacked(packed, (way, )), data)
        with self.assertRaises(SystemExit):
            unpack.unpacked(packed, ())
        with self.assertRaises(SystemExit):
            unpack.unpacked(packed[:-5], (unpack.by_library, ))


if __name__ == "__main__":
    unittest.main(verbosity=2)
