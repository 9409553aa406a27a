"""Checks that engines give the same logits, bit for bit, whole and in chunks:  same_logits.py INGOT ENGINE
ENGINE…"""
import os
import subprocess
import sys
import tempfile

ingot, *engines = sys.argv[1:]
ids = ",".join(str(3 + 7 * i % 200) for i in range(45))  # 45 = 5 * 9: not a multiple of most tiles
with tempfile.TemporaryDirectory() as folder:
    out = os.path.join(folder, "logits.npy")
    for isa in ("avx2", "avx512"):
        seen = set()
        for engine in engines:
            for tokens in ("45", "7"):
                done = subprocess.run([ingot, "logits", engine, "--ids", ids, "--out", out, "--isa", isa,
                                       "--max-batch-tokens", tokens, "--quiet"], capture_output=True, text=True)
                if "E0383" in done.stderr:  # this machine does not have this level
                    continue
                assert done.returncode == 0, done.stderr
                seen.add(open(out, "rb").read())
        assert len(seen) <= 1, f"{isa}: {len(seen)} different answers from {engines}"
    assert os.path.getsize(out) > 45 * 4 * 100
