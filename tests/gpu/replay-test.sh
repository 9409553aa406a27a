#!/usr/bin/env bash
# The way of a bundle's unit tests without a GPU: launches of a few kernels are recorded as host code and
# repeated on the emulator, where all bits must be equal. Then a byte of what is expected is changed, which
# must be found.
#
#   replay-test.sh BIN-FOLDER
set -euo pipefail
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export INGOT_RECORD_TARGET=cuda-emulator
INGOT_RECORD_LAUNCHES=$work/rows.bin "$bin/codegen-cuda-RowsTest" --gtest_brief=1
INGOT_RECORD_LAUNCHES=$work/wgmma.bin "$bin/codegen-cuda-MatmulTest" --gtest_brief=1 --gtest_filter='All/CudaMatmul.Wgmma/bf16'
"$bin/replay-launches" --device cuda-emulator "$work"/rows.bin "$work"/wgmma.bin >"$work/result.json"
python3 - "$work" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1] + "/result.json"))
print({key: value for key, value in result.items() if key != "kernels"})
assert result["failed"] == 0 and result["launches"] == result["bit_equal"] > 20, result
image = bytearray(open(sys.argv[1] + "/rows.bin", "rb").read())
for at in range(len(image) // 2, len(image), len(image) // 97):  # somewhere among the blobs
    image[at] ^= 0x40
open(sys.argv[1] + "/damaged.bin", "wb").write(image)
PYTHON
code=0
"$bin/replay-launches" --device cuda-emulator "$work/damaged.bin" >"$work/damaged.json" 2>"$work/damaged.txt" || code=$?
[ "$code" = 1 ] || [ "$code" = 3 ] || { echo "replay-test.sh: changed memory gave exit $code" >&2; exit 1; }
