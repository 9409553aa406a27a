"""python_test.py LIBRARY ENGINE HEADER CC [unittest options]: tests the Python package from
the tree with the built library.

The engine comes from tests/embed/TestEngine.h: its vocabulary is the 95 printable
characters, part of a character, and <eos>.
"""
import asyncio
import ctypes
import gc
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python" / "src"))
import ingot  # noqa: E402
from ingot import _abi  # noqa: E402

LIBRARY, ENGINE, HEADER, CC = sys.argv[1:5]
NEVER = float("-inf")
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]


class AbiTest(unittest.TestCase):
    """The structures of _abi.py have the memory layout of those of ingot.h; spellings.py compares everything else."""

    STRUCTURES = {
        "ingot_config": _abi.Config,
        "ingot_logprob": _abi.LogprobEntry,
        "ingot_output": _abi.Output,
        "ingot_logits_row": _abi.LogitsRow,
        "ingot_bias": _abi.Bias,
        "ingot_id_list": _abi.IdList,
        "ingot_request": _abi.Request,
        "ingot_stats": _abi.Stats,
        "ingot_model": _abi.Model,
    }

    def test_layout(self):
        declared = re.findall(r"^\} (ingot_\w+);", pathlib.Path(HEADER).read_text(), re.M)
        self.assertEqual(set(declared), set(self.STRUCTURES))
        lines, expected = [], []
        for name, structure in self.STRUCTURES.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            expected.append(f"{name} {ctypes.sizeof(structure)}")
            for field, _ in structure._fields_:
                offset, size = getattr(structure, field).offset, getattr(structure, field).size
                lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
                expected.append(f"{name}.{field} {offset} {size}")
        source = "#include <stdio.h>\n#include \"ingot.h\"\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "layout")
            pathlib.Path(folder, "layout.c").write_text(source)
            include = pathlib.Path(HEADER).parent
            subprocess.run([CC, "-I", str(include), f"{folder}/layout.c", "-o", str(program)], check=True)
            printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
        self.assertEqual(printed.splitlines(), expected)


class PackageTest(unittest.TestCase):
    def test_version(self):
        project = (pathlib.Path(__file__).parents[2] / "python" / "pyproject.toml").read_text()
        self.assertIn(f'\nversion = "{ingot.__version__}"\n', project)
        self.assertEqual(ingot.__version__, ingot.version())

    def test_names_that_were_meant(self):
        for call, words in [
            (lambda: ingot.Engine(ENGINE, contxt=8), "contxt (did you mean context?)"),
            (lambda: ingot.compile(ENGINE, quantise="int8"), "quantise (did you mean quantize?)"),
        ]:
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn(words, str(caught.exception))
        with ingot.Engine(ENGINE, threads=1) as engine, self.assertRaises(TypeError) as caught:
            engine.generate(PROMPT, max_token=3, xyzzy=1)
        self.assertEqual(str(caught.exception), "unknown options: max_token (did you mean max_tokens?), xyzzy")

    def test_checkpoints_without_the_compiler(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch("ingot._compiler.NAME", "libnone.so"):
            with self.assertRaises(ingot.IngotError) as caught:
                ingot.Engine(folder)
        self.assertEqual(caught.exception.code, "E0592")
        self.assertIn("libnone.so", caught.exception.why)
        with self.assertRaises(ingot.IngotError) as caught:
            ingot.Engine(ENGINE, quantize="int8", kv="f16")
        self.assertEqual((caught.exception.code, caught.exception.what), ("E0595", "quantize and kv: unused here"))


class EngineTest(unittest.TestCase):
    def setUp(self):
        self.engine = ingot.Engine(ENGINE, threads=1)
        self.addCleanup(self.engine.close)

    def greedy(self, count, prompt=PROMPT):
        return self.engine.generate(prompt, max_tokens=count, ignore_eos=True)

    def test_model(self):
        model = self.engine.model
        self.assertEqual((model.name, model.vocab, model.eos, model.bos), ("fake", 97, [96], None))
        self.assertTrue(model.has_tokenizer and model.has_chat_template)
        self.assertEqual((model.max_seqs, model.threads), (8, 1))

    def test_generate(self):
        answer = self.greedy(12)
        self.assertEqual(len(answer.ids), 12)
        self.assertEqual(answer.finish_reason, "length")
        self.assertEqual(answer.text, self.engine.decode(answer.ids))
        self.assertEqual(str(answer), answer.text)
        self.assertEqual(answer.choices[0].prompt_tokens, len(PROMPT))
        self.assertEqual(answer.choices[0].new_tokens, 12)
        text = self.engine.decode(PROMPT)
        self.assertEqual(self.engine.generate(text, max_tokens=12, ignore_eos=True).ids, answer.ids)

    def test_choices_and_logprobs(self):
        answer = self.engine.generate(PROMPT, max_tokens=9, ignore_eos=True, n=3, temperature=2.0, seed=5, logprobs=2)
        self.assertEqual([choice.choice for choice in answer.choices], [0, 1, 2])
        self.assertEqual(len({tuple(choice.ids) for choice in answer.choices}), 3)
        for choice in answer.choices:
            self.assertEqual([row[0].id for row in choice.logprobs], choice.ids)
            self.assertTrue(all(len(row) == 3 and row[0].logprob <= 0 for row in choice.logprobs))
        again = self.engine.generate(PROMPT, max_tokens=9, ignore_eos=True, n=3, temperature=2.0, seed=5)
        self.assertEqual([choice.ids for choice in again.choices], [choice.ids for choice in answer.choices])

    def test_searches(self):
        ask = dict(max_tokens=9, ignore_eos=True)
        self.assertEqual(self.engine.generate(PROMPT, beam_width=1, **ask).ids, self.greedy(9).ids)
        answer = self.engine.generate(PROMPT, beam_width=4, n=3, length_penalty=2.0, early_stopping="never", logprobs=0, **ask)
        sums = [sum(row[0].logprob for row in choice.logprobs) for choice in answer.choices]
        self.assertEqual(sums, sorted(sums, reverse=True))
        self.assertEqual(len({tuple(choice.ids) for choice in answer.choices}), 3)
        other = self.engine.generate(PROMPT, penalty_alpha=0.9, top_k=4, **ask)
        self.assertNotEqual(other.ids, self.greedy(9).ids)
        for bad in (dict(beam_width=9), dict(beam_width=2, n=3), dict(beam_width=2, early_stopping="soon"), dict(penalty_alpha=2.0)):
            with self.assertRaises(ingot.IngotError):
                self.engine.generate(PROMPT, **bad)

    def test_batch(self):
        prompts = [PROMPT[:length] for length in range(1, 9)] * 5
        small = ingot.Engine(ENGINE, threads=1, max_seqs=2, queue_requests=3)  # fewer sequence slots than prompts
        with small:
            answers = small.generate_batch(prompts, max_tokens=6, ignore_eos=True)
        self.assertEqual([a.ids for a in answers], [self.greedy(6, prompt).ids for prompt in prompts])

    def test_stream(self):
        pieces = list(self.engine.stream(PROMPT, max_tokens=30, ignore_eos=True))
        self.assertEqual("".join(map(str, pieces)), self.greedy(30).text)
        self.assertEqual([piece.finish_reason for piece in pieces], [None] * (len(pieces) - 1) + ["length"])

    def test_closing_a_stream_cancels(self):
        called = threading.Event()

        def slow(row):
            called.set()
            time.sleep(0.001)

        stream = self.engine.stream(PROMPT, max_tokens=-1, ignore_eos=True, on_logits=slow)
        next(stream)
        stream.close()
        self.assertTrue(called.is_set())
        self.assertEqual(self.engine.stats().cancelled, 1)
        self.assertEqual(self.engine.stats().kv_pages_used, 0)

    def test_stop(self):
        plain = self.greedy(20).text
        answer = self.engine.generate(PROMPT, max_tokens=20, ignore_eos=True, stop=plain[4:6])
        self.assertEqual(answer.text, plain[: plain.index(plain[4:6])])
        self.assertEqual((answer.finish_reason, answer.choices[0].stop_string), ("stop", plain[4:6]))

    def test_hooks_without_numpy(self):
        with unittest.mock.patch.dict(sys.modules, {"numpy": None}):
            self.test_hooks()

    def test_step_limit(self):
        held = threading.Event()
        with ingot.Engine(ENGINE, threads=1, step_limit=0.2) as engine:
            with self.assertRaisesRegex(ingot.IngotError, "E0725"):
                engine.generate(PROMPT, max_tokens=4, on_logits=lambda row: held.wait(60) and None)
            held.set()
        with self.assertRaisesRegex(ingot.IngotError, "E0501"):
            ingot.Engine(ENGINE, step_limit=-1.0)

    def test_lock(self):
        most = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        try:
            with ingot.Engine(ENGINE, threads=1, max_seqs=1, context=64, lock_memory=True) as engine:
                self.assertTrue(engine.generate(PROMPT, max_tokens=4, temperature=0).ids)
                locked = int(re.search(r"VmLck:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])
                self.assertGreater(locked, 0)
        except ingot.IngotError as refused:  # a machine that allows hardly any locked memory
            self.assertEqual((refused.code, most[0] < 1 << 20), ("E0509", True))

    def test_hooks_with_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")

        def only(row):
            assert isinstance(row.logits, numpy.ndarray) and row.logits.dtype == numpy.float32
            row.logits[:] = NEVER
            row.logits[len(row.ids)] = 0

        self.assertEqual(self.engine.generate(PROMPT, max_tokens=4, on_logits=only).ids, [0, 1, 2, 3])

    def test_hooks(self):
        seen = []

        def only(row):
            seen.append(list(row.ids))
            self.assertEqual(len(row.logits), 97)
            for i in range(97):
                if i != 40 + len(row.ids):
                    row.logits[i] = NEVER

        self.assertEqual(self.engine.generate(PROMPT, max_tokens=4, on_logits=only).ids, [40, 41, 42, 43])
        self.assertEqual(seen, [[], [40], [40, 41], [40, 41, 42]])

        def broken(row):
            raise ValueError("from the hook")

        for call in (self.engine.generate, lambda *a, **k: list(self.engine.stream(*a, **k))):
            with self.assertRaisesRegex(ValueError, "from the hook"):
                call(PROMPT, max_tokens=50, on_logits=broken)
        self.assertEqual(self.engine.stats().kv_pages_used, 0)

    def test_rules(self):
        first = self.greedy(1).ids[0]
        answer = self.engine.generate(
            PROMPT, max_tokens=20, ignore_eos=True, bad_words=[[first], [1, 2]], logit_bias={7: -100.0}, min_tokens=3
        )
        self.assertNotIn(first, answer.ids)
        self.assertNotIn(7, answer.ids)

    def test_text(self):
        self.assertEqual(self.engine.encode("ab <eos>"), [64, 65, 94, 96])
        self.assertEqual(self.engine.decode([64, 96], show_special=True), "a<eos>")
        self.assertEqual((self.engine.token_bytes(64), self.engine.token_bytes(95)), (b"a", b"\xc3"))
        self.assertEqual((self.engine.token_id("<eos>"), self.engine.token_id("?!")), (96, None))
        messages = [{"role": "user", "content": "hi"}]
        self.assertEqual(self.engine.render_chat(messages, variables={"name": "x"}), "[user]hi(x)[assistant]")
        answer = self.engine.chat(messages, max_tokens=5, ignore_eos=True)
        self.assertEqual(answer.ids, self.engine.generate("[user]hi[assistant]", max_tokens=5, ignore_eos=True).ids)
        streamed = "".join(str(p) for p in self.engine.stream_chat(messages, max_tokens=5, ignore_eos=True))
        self.assertEqual(streamed, answer.text)

    def test_control_tokens_in_contents_are_text(self):
        def prompt_tokens(**options):
            messages = [{"role": "user", "content": "a<eos>"}]
            return self.engine.chat(messages, max_tokens=1, ignore_eos=True, **options).choices[0].prompt_tokens

        letters = len("[user]a<eos>[assistant]")
        self.assertEqual(prompt_tokens(), letters)
        self.assertEqual(prompt_tokens(trust_content=True), letters - len("<eos>") + 1)

    def test_errors(self):
        def code(function, *arguments, **options):
            with self.assertRaises(ingot.IngotError) as caught:
                function(*arguments, **options)
            self.assertIn(caught.exception.code, str(caught.exception))
            return caught.exception.code, caught.exception.status

        self.assertEqual(code(ingot.Engine, "none.ingot")[1], 3)
        self.assertEqual(code(ingot.Engine, ENGINE, context=1 << 30), ("E0501", 2))
        self.assertEqual(code(self.engine.generate, ""), ("E0503", 2))
        self.assertEqual(code(self.engine.generate, [97]), ("E0504", 2))
        self.assertEqual(code(self.engine.generate, PROMPT, top_p=2.0), ("E0510", 2))
        self.assertEqual(code(self.engine.generate, PROMPT, json_object=True, regex="a"), ("E0578", 2))
        with self.assertRaises(TypeError):
            self.engine.generate(PROMPT, max_token=3)
        self.engine.close()
        self.engine.close()
        self.assertEqual(code(self.engine.generate, PROMPT), ("E0561", 4))

    def test_penalty_window(self):
        def ids(**options):
            return self.engine.generate(PROMPT, max_tokens=12, ignore_eos=True, **options).ids

        self.assertNotEqual(ids(repetition_penalty=50.0), ids())
        self.assertEqual(ids(repetition_penalty=50.0, penalty_window=0), ids())
        self.assertEqual(ids(repetition_penalty=50.0, penalty_window=-1), ids(repetition_penalty=50.0))

    def test_threads(self):
        expected = {length: self.greedy(20, PROMPT[:length]).ids for length in range(1, 9)}
        wrong = []

        def work(length):
            for _ in range(5):
                if self.greedy(20, PROMPT[:length]).ids != expected[length]:
                    wrong.append(length)

        threads = [threading.Thread(target=work, args=(length,)) for length in expected]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        stats = self.engine.stats()
        self.assertEqual((stats.finished_length, stats.running, stats.waiting), (48, 0, 0))
        self.assertIn("vllm:generation_tokens_total", self.engine.metrics())

    def test_shutdown(self):
        stream = self.engine.stream(PROMPT, max_tokens=-1, ignore_eos=True, on_logits=lambda row: time.sleep(0.001))
        next(stream)
        self.engine.shutdown(wait=0.01)
        self.assertEqual(list(stream)[-1].finish_reason, "cancelled")

    def test_a_forgotten_engine_is_closed(self):
        engine = ingot.Engine(ENGINE, threads=1)
        engine.generate(PROMPT, max_tokens=1, on_logits=lambda row: None)
        before = threading.active_count()
        tasks = len(list(pathlib.Path("/proc/self/task").iterdir()))
        del engine
        gc.collect()
        self.assertLess(len(list(pathlib.Path("/proc/self/task").iterdir())), tasks)
        self.assertEqual(threading.active_count(), before)


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.engine = ingot.Engine(ENGINE, threads=1)
        self.addCleanup(self.engine.close)

    async def test_all_at_once(self):
        prompts = [PROMPT[:length] for length in range(1, 9)]
        answers = await asyncio.gather(*(self.engine.agenerate(p, max_tokens=15, ignore_eos=True) for p in prompts))
        for prompt, answer in zip(prompts, answers):
            self.assertEqual(answer.ids, self.engine.generate(prompt, max_tokens=15, ignore_eos=True).ids)

    async def test_stream(self):
        pieces = [piece async for piece in self.engine.astream(PROMPT, max_tokens=25, ignore_eos=True)]
        whole = self.engine.generate(PROMPT, max_tokens=25, ignore_eos=True)
        self.assertEqual("".join(map(str, pieces)), whole.text)
        chat = [{"role": "user", "content": "hi"}]
        streamed = [piece async for piece in self.engine.astream_chat(chat, max_tokens=5, ignore_eos=True)]
        self.assertEqual("".join(map(str, streamed)), (await self.engine.achat(chat, max_tokens=5, ignore_eos=True)).text)

    async def test_cancelling_a_task_cancels(self):
        def slow(row):
            time.sleep(0.001)

        task = asyncio.ensure_future(self.engine.agenerate(PROMPT, max_tokens=-1, ignore_eos=True, on_logits=slow))
        while not self.engine.stats().running:
            await asyncio.sleep(0.002)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        stream = self.engine.astream(PROMPT, max_tokens=-1, ignore_eos=True, on_logits=slow)
        async for _ in stream:
            break
        await stream.aclose()
        deadline = time.monotonic() + 10
        while self.engine.stats().cancelled < 2 and time.monotonic() < deadline:
            await asyncio.sleep(0.002)
        self.assertEqual(self.engine.stats().cancelled, 2)

    async def test_errors(self):
        with self.assertRaises(ingot.IngotError) as caught:
            await self.engine.agenerate([97])
        self.assertEqual(caught.exception.code, "E0504")

        def broken(row):
            raise ValueError("from the hook")

        with self.assertRaisesRegex(ValueError, "from the hook"):
            await self.engine.agenerate(PROMPT, max_tokens=5, on_logits=broken)


if __name__ == "__main__":
    ingot.load_library(LIBRARY)
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
