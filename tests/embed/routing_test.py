"""routing_test.py [unittest options]: tests the parts of ingot.ray without Ray: prefix
routing, and locating engines."""
import contextlib
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python" / "src"))
from ingot._library import IngotError  # noqa: E402
from ingot._prefixes import BLOCK, HASH, MOST_BLOCKS, PrefixPolicy, conversation_text, prefix_blocks  # noqa: E402
from ingot._stored import engine_path  # noqa: E402


def said(role, content, **more):
    return {"role": role, "content": content, **more}


def shared(one, other, key=("m", "")):
    """The number of leading blocks that two bodies share."""
    a, b = (prefix_blocks(key, conversation_text(body)) for body in (one, other))
    return len(os.path.commonprefix([a, b])) // HASH, len(a) // HASH


class BlocksTest(unittest.TestCase):
    def test_conversations_that_grow_share_their_beginning(self):
        turns = [said("system", "Be short. " * 20), said("user", "What is a compiler? " * 10)]
        longer = [*turns, said("assistant", "A translator. " * 10), said("user", "Why? " * 30)]
        common, all_of_it = shared({"messages": turns}, {"messages": longer})
        self.assertEqual(common, all_of_it)
        self.assertEqual(all_of_it, len(conversation_text({"messages": turns})) // BLOCK)

    def test_what_differs_ends_what_is_shared(self):
        system = said("system", "x" * 10 * BLOCK)
        common, _ = shared({"messages": [system, said("user", "a" * BLOCK)]}, {"messages": [system, said("user", "b" * BLOCK)]})
        self.assertEqual(common, 10)
        # A block covers all text before it, so the same words after different ones make another block.
        common, _ = shared({"prompt": "a" * BLOCK + "c" * 640}, {"prompt": "b" * BLOCK + "c" * 640})
        self.assertEqual(common, 0)

    def test_roles_tools_and_salts_tell_apart(self):
        words = "w" * 5 * BLOCK
        self.assertEqual(shared({"messages": [said("user", words)]}, {"messages": [said("system", words)]})[0], 0)
        tool = [{"type": "function", "function": {"name": "f"}}]
        self.assertEqual(shared({"messages": [said("user", words)]}, {"messages": [said("user", words)], "tools": tool})[0], 0)
        one, other = prefix_blocks(("m", ""), words), prefix_blocks(("m", "salt"), words)
        self.assertNotEqual(one[:HASH], other[:HASH])
        self.assertNotEqual(prefix_blocks(("m", ""), words), prefix_blocks(("n", ""), words))

    def test_every_protocol_has_its_prompt(self):
        words = "w" * BLOCK
        ids = list(range(100, 400))
        for body in ({"prompt": words}, {"prompt": [words, "other"]}, {"input": words}, {"prompt": ids}, {"prompt": [ids]},
                     {"system": words, "messages": []}, {"messages": [said("user", [{"type": "text", "text": words}])]},
                     {"instructions": words, "input": [said("user", "hi")]}):
            self.assertGreaterEqual(len(conversation_text(body)), BLOCK, body)
        self.assertNotEqual(conversation_text({"prompt": [11, 1]}), "")
        for body in ({}, {"prompt": ""}, {"prompt": []}, {"messages": None}, {"messages": 3}, {"prompt": {"a": 1}}):
            prefix_blocks(("m",), conversation_text(body))
        self.assertEqual(prefix_blocks(("m",), "\ud800" * BLOCK)[HASH:], b"")

    def test_no_more_than_the_first_blocks(self):
        self.assertEqual(len(prefix_blocks(("m",), "x" * (MOST_BLOCKS + 50) * BLOCK)), MOST_BLOCKS * HASH)
        self.assertEqual(prefix_blocks(("m",), "x" * (BLOCK - 1)), b"")


class PolicyTest(unittest.TestCase):
    def send(self, policy, request, blocks, replicas=("a", "b", "c")):
        first = policy.order(list(replicas), blocks)[0]
        policy.sent(request, first, blocks)
        return first

    def test_a_conversation_stays(self):
        policy = PrefixPolicy()
        turns = [prefix_blocks(("m",), f"{user} " * 500) for user in range(9)]
        homes = [self.send(policy, f"first {user}", blocks) for user, blocks in enumerate(turns)]
        self.assertEqual(sorted(map(homes.count, "abc")), [3, 3, 3])  # by load
        for user, home in enumerate(homes):
            policy.ended(f"first {user}", home)
        for user, blocks in enumerate(turns):
            self.assertEqual(self.send(policy, f"again {user}", blocks + blocks[:HASH]), homes[user])

    def test_the_longest_match_wins(self):
        policy = PrefixPolicy()
        text = "x" * 10 * BLOCK
        policy.sent("1", "a", prefix_blocks(("m",), text)[: 3 * HASH])
        policy.sent("2", "b", prefix_blocks(("m",), text)[: 7 * HASH])
        self.assertEqual(policy.order(["a", "b", "c"], prefix_blocks(("m",), text))[0], "b")
        self.assertEqual(policy.matching("a", prefix_blocks(("m",), text)), 3)

    def test_an_overloaded_replica_is_passed_over(self):
        """Load > least * 1.25 + 4: the fifth request beyond an idle replica goes elsewhere."""
        policy = PrefixPolicy()
        blocks = prefix_blocks(("m",), "x" * 640)
        sent = [self.send(policy, str(number), blocks) for number in range(6)]
        self.assertEqual(sent[:5], [sent[0]] * 5)
        self.assertNotEqual(sent[5], sent[0])
        # Now both have the prefix, and the one with less load gets the request.
        self.assertEqual(policy.order(["a", "b", "c"], blocks)[0], sent[5])
        slow = PrefixPolicy(slack_share=1, slack=0)
        self.assertEqual({self.send(slow, str(number), blocks) for number in range(3)}, {"a", "b", "c"})

    def test_without_prefixes_loads_decide(self):
        policy = PrefixPolicy(prefix=False)
        blocks = prefix_blocks(("m",), "x" * 640)
        self.assertEqual({self.send(policy, str(number), blocks) for number in range(3)}, {"a", "b", "c"})

    def test_loads_are_what_is_under_way(self):
        policy = PrefixPolicy()
        policy.chosen("1", "a")
        policy.chosen("1", "a")
        self.assertEqual(policy.load("a"), 1)
        policy.chosen("1", "b")  # a had no capacity
        self.assertEqual((policy.load("a"), policy.load("b")), (0, 1))
        policy.ended("1", "a")  # the refusal, reported late
        self.assertEqual(policy.load("b"), 1)
        policy.sent("1", "b", b"")
        policy.ended("1", "b")
        policy.ended("1", "b")
        self.assertEqual(policy.load("b"), 0)
        policy.chosen("2", "a")
        policy.drop("2")
        self.assertEqual(policy.load("a"), 0)

    def test_what_is_remembered_is_bounded(self):
        policy = PrefixPolicy(blocks=10)
        old, new = (prefix_blocks(("m",), letter * 8 * BLOCK) for letter in "xy")
        policy.sent("1", "a", old)
        policy.sent("2", "a", new)
        self.assertEqual(policy.matching("a", new), 8)
        self.assertEqual(policy.matching("a", old), 2)  # the end of the prefix was evicted, not its beginning

    def test_a_replica_that_went_is_forgotten(self):
        policy = PrefixPolicy()
        blocks = prefix_blocks(("m",), "x" * 640)
        policy.sent("1", "a", blocks)
        policy.keep(["b"])
        self.assertEqual((policy.load("a"), policy.matching("a", blocks)), (0, 0))
        policy.ended("1", "a")
        self.assertEqual(policy.load("a"), 0)
        self.assertEqual(policy.order([], blocks), [])

    def test_figures_that_cannot_be(self):
        for wrong in ({"slack_share": 0.9}, {"slack": -1}, {"blocks": 0}):
            with self.assertRaises(ValueError):
                PrefixPolicy(**wrong)


class StoredTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = str(self.folder / "cache")
        self.content = b"INGOT" + os.urandom(1000)
        self.hash = hashlib.sha256(self.content).hexdigest()
        self.opened = []
        store = types.ModuleType("fsspec")
        store.open = self.open_stored
        self.files = {"s3://b/m.ingot": self.content}
        sys.modules["fsspec"] = store
        self.addCleanup(sys.modules.pop, "fsspec")

    @contextlib.contextmanager
    def open_stored(self, address, mode):
        self.opened.append(address)
        if address not in self.files:
            raise FileNotFoundError(address)
        yield io.BytesIO(self.files[address])

    def refused(self, code, engine, **more):
        with self.assertRaises(IngotError) as caught:
            engine_path(engine, cache=self.cache, **more)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertTrue(caught.exception.fix)

    def test_fetched_once_and_found_by_content(self):
        paths = []
        threads = [threading.Thread(target=lambda: paths.append(engine_path("s3://b/m.ingot", self.hash, self.cache))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.opened, ["s3://b/m.ingot"])
        self.assertEqual(len(set(paths)), 1)
        self.assertEqual(paths[0].read_bytes(), self.content)
        self.assertEqual(engine_path(f"sha256:{self.hash}", cache=self.cache), paths[0])
        self.assertEqual([path.name for path in pathlib.Path(self.cache).iterdir() if path.suffix == ".ingot"], [f"m-sha256-{self.hash}.ingot"])

    def test_the_hash_beside_it(self):
        self.files["s3://b/m.ingot.sha256"] = f"{self.hash}  m.ingot\n".encode()
        self.assertEqual(engine_path("s3://b/m.ingot", cache=self.cache).read_bytes(), self.content)
        self.files["s3://b/m.ingot.sha256"] = b"none"
        self.refused("E0563", "s3://b/m.ingot")

    def test_what_is_not_the_file_leaves_nothing(self):
        self.files["s3://b/m.ingot"] = self.content[:-1]
        self.refused("E0566", "s3://b/m.ingot", sha256=self.hash)
        self.refused("E0598", "s3://b/gone.ingot", sha256=self.hash)
        self.refused("E0563", "s3://b/m.ingot")
        self.refused("E0563", "s3://b/m.ingot", sha256="ABC")
        self.assertEqual([path for path in pathlib.Path(self.cache).iterdir() if not path.name.endswith(".lock")], [])
        del sys.modules["fsspec"]
        sys.modules["fsspec"] = None  # as if it were not installed
        self.refused("E0565", "s3://b/m.ingot", sha256=self.hash)

    def test_paths_and_what_was_compiled(self):
        place = self.folder / "m.ingot"
        place.write_bytes(self.content)
        self.assertEqual(engine_path(str(place)), place)
        self.assertEqual(engine_path(str(place), self.hash), place)
        self.refused("E0566", str(place), sha256="0" * 64)
        self.refused("E0599", str(self.folder / "other.ingot"))
        self.refused("E0599", f"sha256:{self.hash}")
        self.refused("E0563", "sha256:12")
        self.refused("E0599", "cache:m-0123")
        os.makedirs(self.cache)
        (pathlib.Path(self.cache) / "m-0123.ingot").write_bytes(self.content)
        self.assertEqual(engine_path("cache:m-0123", cache=self.cache).name, "m-0123.ingot")


class WithoutRayTest(unittest.TestCase):
    def test_it_says_how_to_get_it(self):
        program = "import sys; sys.path.insert(0, sys.argv[1]); sys.modules['ray'] = None\nimport ingot\nimport ingot.ray"
        source = str(pathlib.Path(__file__).parents[2] / "python" / "src")
        done = subprocess.run([sys.executable, "-c", program, source], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.splitlines()[-1], r"ImportError: ingot\.ray needs .*pip install 'ingot\[ray\]'")


if __name__ == "__main__":
    unittest.main()
