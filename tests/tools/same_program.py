"""same_program.py INGOT ENGINE OTHER…: checks that engines differ only in provenance and evidence."""
import json
import subprocess
import sys

ingot, first, *others = sys.argv[1:]


def content(path):
    said = json.loads(subprocess.run([ingot, "inspect", path, "--json"], check=True, capture_output=True, text=True).stdout)
    for of in [said, *said["programs"]]:
        of.pop("provenance")
    said.pop("evidence")
    # The table's size and hash depend on provenance, and the offsets of segments depend on
    # the size. Hashes cover the contents.
    said.pop("file_bytes")
    for segment in said["segments"]:
        segment.pop("offset", None)
    # The description of a kernel's origin depends on the phase that the compilation began with.
    for of in said["programs"]:
        of["statement"].pop("mapped"), of["statement"].pop("total")
    said["segments"] = [segment for segment in said["segments"] if segment["kind"] != "Ir"]
    return said


expected = content(first)
assert any("hash" in key for key in expected["segments"][0]), f"segments have no hashes: {expected['segments'][0]}"
for path in others:
    found = content(path)
    for key in expected:
        assert found.get(key) == expected[key], f"{path}: {key} differs: {str(found.get(key))[:300]} instead of {str(expected[key])[:300]}"
