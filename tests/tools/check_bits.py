"""The bit list has every case and no other, and changes are named:  check_bits.py TESTS WORK"""
import pathlib
import subprocess
import sys

tests, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(tests / "bits"))
import run  # noqa: E402

cases = {case.name: case for case in run.listed.cases()}
entries = run.read_list()
assert set(entries) == set(cases), set(entries) ^ set(cases)
known = run.made.models(work)
assert {case.model for case in cases.values()} <= set(known)
for name, entry in entries.items():
    assert set(entry) == {"logits", "greedy", "drawn"} | (set() if cases[name].emulator else {"score"}), name
    assert all(isinstance(value, dict) == cases[name].by_level for value in entry.values()), name

# The changes are a hash, an id, and one level of two. A value that the list lacks is not a failure.
integers, floats = cases["llama int8"], cases["llama"]
found = {"logits": {"avx2": "a", "avx512": "a"}, "greedy": {"avx2": "1 2 | 3 4", "avx512": "1 2 | 3 4"}}
entry = run.folded(integers, found, None)
assert entry == {"logits": "a", "greedy": "1 2 | 3 4"} and run.compare(entry, found) == ([], set())
moved, _ = run.compare({**entry, "greedy": "1 2 | 3 5"}, found)
assert moved == [f"{level}: greedy: prompt 1, id 1 is 4, the list has 5" for level in ("avx2", "avx512")], moved
moved, _ = run.compare(entry, {"logits": {"avx2": "a", "avx512": "b"}})
assert moved == ["avx512: the hash of the logits is b, the list has a"], moved
run.checked_levels(integers, found)
try:
    run.checked_levels(integers, {"logits": {"avx2": "a", "avx512": "b"}})
    raise RuntimeError("levels of an integer format may differ")
except AssertionError:
    run.checked_levels(floats, {"logits": {"avx2": "a", "avx512": "b"}})
# A machine without AVX-512 keeps that level's values if nothing else changed.
both = run.folded(floats, {"logits": {"avx2": "a", "avx512": "b"}}, None)
assert run.folded(floats, {"logits": {"avx2": "a"}}, both) == both
assert run.folded(floats, {"logits": {"avx2": "c"}}, both) == {"logits": {"avx2": "c"}}
assert run.compare({"logits": {"avx2": "a"}}, {"logits": {"avx2": "a", "avx512": "b"}}) == ([], {"avx512"})

# The program, with a fake `ingot` whose numbers are invented.
program = work / "ingot"
program.write_text(f"""#!{sys.executable}
import json, struct, sys
arguments = sys.argv[1:]
count = lambda option: len(json.load(open(arguments[arguments.index(option) + 1])))
if arguments[0] == "logits":
    head = b"{{'descr': '<f4', 'shape': ()}}"
    open(arguments[arguments.index("--out") + 1], "wb").write(b"\\x93NUMPY\\x01\\x00" + struct.pack("<H", len(head)) + head + bytes(4 * 331 * count("--ids-file")))
elif arguments[0] == "compile":
    open(arguments[arguments.index("-o") + 1], "w").write("engine")
elif arguments[0] == "--version":
    print("ingot 0, this machine runs avx2")
elif arguments[0] == "inspect":
    print(json.dumps({{"programs": [{{"targets": [{{"target": "cpu:avx2"}}]}}]}}))
elif arguments[0] == "score":
    print(json.dumps({{"nll": [0.5] * count("--ids-file")}}))
else:
    print("\\n".join(json.dumps({{"ids": [1, 2, 3]}}) for line in open(arguments[arguments.index("--prompts-file") + 1])))
""")
program.chmod(0o755)
junit = work / "bits.xml"
command = [sys.executable, tests / "bits" / "run.py", "--check", "--ingot", program, "--checkpoints", work, "--work", work / "bits"]
done = subprocess.run([*command, "--filter", "llama int8", "--junit", junit], capture_output=True, text=True)
assert done.returncode == 1 and "the hash of the logits" in done.stdout and "bits llama int8 kv f32" in junit.read_text(), done
done = subprocess.run([*command, "--filter", "smollm2"], capture_output=True, text=True)
assert done.returncode == 0 and "3 of them skipped" in done.stdout, done
assert subprocess.run([*command, "--filter", "no such case"], capture_output=True).returncode == 1
