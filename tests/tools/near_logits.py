"""Checks that two files of logits differ, and by how little:  near_logits.py A.npy B.npy SHARE-OF-THE-LARGEST"""
import array
import sys


def read(name):
    data = open(name, "rb").read()
    return array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])


a, b = map(read, sys.argv[1:3])
assert len(a) == len(b), (len(a), len(b))
largest = max(abs(x - y) for x, y in zip(a, b)) / max(map(abs, b))
print(largest)
assert 0 < largest < float(sys.argv[3]), largest
