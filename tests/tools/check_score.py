"""check_score.py LOGITS.npy SCORE.json IDS…: checks that the nll follow from the logits. Standard library only."""
import json
import math
import struct
import sys

data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
header_end = 10 + struct.unpack("<H", data[8:10])[0]
assert header_end % 64 == 0, header_end
header = eval(data[10:header_end])  # the format defines it as a Python dict
assert header["descr"] == "<f4" and not header["fortran_order"], header
rows, columns = header["shape"]
ids = [int(x) for x in sys.argv[3:]]
assert rows == len(ids), header
score = json.load(open(sys.argv[2]))
assert len(score["nll"]) == rows - 1
for row in range(rows - 1):
    logits = struct.unpack_from(f"<{columns}f", data, header_end + 4 * columns * row)
    top = max(logits)
    nll = top + math.log(sum(math.exp(x - top) for x in logits)) - logits[ids[row + 1]]
    assert abs(nll - score["nll"][row]) < 1e-5, (row, nll, score["nll"][row])
mean = sum(score["nll"]) / (rows - 1)
assert abs(math.exp(mean) - score["perplexity"]) < 1e-6 * score["perplexity"]
