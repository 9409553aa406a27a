"""Writes Grids.cpp: the grids of GGUF's IQ1, IQ2 and IQ3 blocks, as the `gguf` package (PyPI) has them.

    python3 make_grids.py Grids.cpp

An entry is eight 2-bit numbers (IQ1, IQ2) or four 3-bit numbers (IQ3), the first number in the lowest bits.
The tables of runtime/formats/NumericFormat.cpp give the value of each number.
"""

import sys

import numpy as np
from gguf import quants

HEAD = """//===- Grids.cpp - Which numbers stand together in IQ blocks ----------------===//
//
// Written by make_grids.py, from the tables of ggml (ggml-common.h) that the `gguf` package has.
//===----------------------------------------------------------------------===//
#include "runtime/formats/Grids.h"

namespace ingot {

// clang-format off
"""


def entries(kind):
    kind.init_grid()
    places = np.array([kind.grid_map.index(int(value)) for value in kind.grid.ravel()]).reshape(kind.grid_shape)
    bits = 2 if kind.grid_shape[1] == 8 else 3
    return [sum(int(place) << (bits * i) for i, place in enumerate(entry)) for entry in places]


with open(sys.argv[1], "w") as file:
    file.write(HEAD)
    for name, kind in (("kGridIq2Xxs", quants.IQ2_XXS), ("kGridIq2Xs", quants.IQ2_XS), ("kGridIq2S", quants.IQ2_S),
                       ("kGridIq3Xxs", quants.IQ3_XXS), ("kGridIq3S", quants.IQ3_S), ("kGridIq1", quants.IQ1_S)):
        values = entries(kind)
        file.write(f"const uint16_t {name}[{len(values)}] = {{\n")
        for at in range(0, len(values), 16):
            file.write("    " + " ".join(f"{value:#06x}," for value in values[at : at + 16]) + "\n")
        file.write("};\n")
    file.write("// clang-format on\n\n} // namespace ingot\n")

signs = np.frombuffer(quants.IQ2_XXS.ksigns, np.uint8)
assert all(int(sign) == i | (bin(i).count("1") % 2) << 7 for i, sign in enumerate(signs)), "a sign is the others' parity"
