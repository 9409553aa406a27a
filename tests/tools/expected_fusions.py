"""expected_fusions.py --ingot INGOT --source REPOSITORY [--write]: checks whether any family has lost a fusion.

Compiles each tiny checkpoint of tests/checkpoints/tiny to plans for CPUs and GPUs and lists the launches of their
stages, per kind of layer, by the fusions that made them. They must equal models/expected/FAMILY.txt; --write
rewrites that file after an intended change.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

HEAD = """# Launches of each layer kind of the family's tiny checkpoints (tests/checkpoints/tiny).
# Written by: tests/tools/expected_fusions.py --write
"""
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--ingot", required=True)
parser.add_argument("--source", type=pathlib.Path, required=True)
parser.add_argument("--write", action="store_true")
parser.add_argument("--only", default="", help="checkpoints that begin with this")
options = parser.parse_args()


TARGETS = {"cpu": "cpu:avx2", "cuda": "cuda:sm_90a"}


def sections_of(plan):
    """{"@layer" or "@layer when [tokens <= 4]": its launches}"""
    sections, section, case = {}, None, None
    for line in plan.splitlines():
        if found := re.match(r"\s*plan\.section (@\S+)", line):
            section = case = found[1]
            sections[case] = []
        elif found := re.match(r"\s*plan\.case( when \[.*?\])?", line):
            case = section + (found[1] or "")
            sections[case] = []
        elif found := re.match(r"\s*plan\.launch @(\S+)", line):
            # "gate_up_0" comes from the fusion "gate_up", and "linear_0_keys" from "linear". The suffix of an op that
            # was fused later stays.
            sections[case].append(re.sub(r"_\d+(?=_|$)", "", found[1]))
    return {name: names for name, names in sections.items() if names}


def launches_of(folder):
    model = folder / "model.gguf" if (folder / "model.gguf").exists() else folder
    family, lines = None, [folder.name]
    for device, target in TARGETS.items():
        done = subprocess.run([options.ingot, "compile", model, "--target", target, "--to", "plan", "--quiet"],
                              capture_output=True, text=True)
        if done.returncode:
            return folder.name, None, f"for {target}: {done.stderr}"
        family = re.search(r'family = "([^"]+)"', done.stdout)[1]
        lines += [f"  {device} {section}: {len(names)}: {' '.join(names)}" for section, names in sections_of(done.stdout).items()]
    return folder.name, family, lines


tiny = options.source / "tests/checkpoints/tiny"
folders = sorted(path for path in tiny.iterdir() if (path / "ids.json").exists() and path.name.startswith(options.only))
found, wrong = {}, []
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for name, family, lines in pool.map(launches_of, folders):
        if family is None:
            wrong.append(f"{name} does not compile {lines}")
            continue
        found.setdefault(family, {})[name] = lines

expected = options.source / "models/expected"
for family, checkpoints in sorted(found.items()):
    path = expected / f"{family}.txt"
    text = HEAD + "".join("\n" + "\n".join(lines) + "\n" for lines in checkpoints.values())
    if options.write:
        expected.mkdir(exist_ok=True)
        path.write_text(text)
        continue
    if not path.exists():
        wrong.append(f"{path} is missing")
        continue
    blocks = [block.strip("\n").split("\n") for block in path.read_text().split("\n\n")]
    known = {block[0]: block for block in blocks[1:]}
    for name, lines in checkpoints.items():
        if lines == known.get(name):
            continue
        wrong.append(f"{name} ({family}) has other launches than models/expected/{family}.txt:")
        wrong += [f"  - {line.strip()}" for line in known.get(name, ["nothing"]) if line not in lines]
        wrong += [f"  + {line.strip()}" for line in lines if line not in known.get(name, [])]
if wrong:
    sys.exit("\n".join(wrong) + "\nif that is meant: expected_fusions.py --write")
print(f"{len(folders)} checkpoints of {len(found)} families have the launches that are expected")
