"""same_program.py INGOT ENGINE OTHER…: engines that differ in provenance and evidence alone."""
import json
import subprocess
import sys

ingot, first, *others = sys.argv[1:]


def content(path):
    said = json.loads(subprocess.run([ingot, "inspect", path, "--json"], check=True, capture_output=True, text=True).stdout)
    for of in [said, *said["programs"]]:
        of.pop("provenance")
    said.pop("evidence")
    # The table's size and hash hang on provenance; where segments begin hangs on the size. Hashes say what is in them.
    said.pop("file_bytes")
    for segment in said["segments"]:
        segment.pop("offset", None)
    # What kernels were made of is told in words of the phase that the compilation began with.
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
