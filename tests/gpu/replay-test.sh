#!/usr/bin/env bash
# Tests the replay of a bundle's unit tests without a GPU: launches of a few kernels are recorded as host code and
# repeated on the emulator, where all bits must be equal. Then planted errors must be found without affecting the
# other launches, and a damaged file must be rejected.
#
#   replay-test.sh BIN-FOLDER
set -euo pipefail
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset GTEST_OUTPUT # otherwise each part would write its own report
record() { # NAME PROGRAM FILTER
  INGOT_RECORD_TARGET=cuda-emulator INGOT_RECORD_LAUNCHES=$work/$1.bin "$bin/$2" --gtest_brief=1 --gtest_filter="$3"
}
replay() { # NAME ARGUMENTS…: returns the exit status
  local name=$1 code=0; shift
  "$bin/replay-launches" --device cuda-emulator "$@" >"$work/$name.jsonl" 2>"$work/$name.err" || code=$?
  echo "$code"
}
record rows codegen-cuda-RowsTest '*'
record few codegen-cuda-FewTokensTest '*Keys*'
record wgmma codegen-cuda-MatmulTest 'All/CudaMatmul.Wgmma/bf16'
record split codegen-cuda-AttentionTest 'CudaAttention.SharedByBlocks'
"$bin/plant-launches" "$work/planted.bin"
record experts codegen-cuda-ExpertsTest 'CudaGroupRoutes.*:CudaCombine.*:CudaExperts.Mxfp4'
export right=$(replay right --limit 300 "$work"/{rows,few,wgmma,split,experts}.bin)
export planted=$(replay planted --limit 3 "$work/planted.bin")
export some=$(replay some --limit 3 --only right --only near_to --most 3 "$work/planted.bin")
head -c 5000 "$work/rows.bin" >"$work/cut.bin"
export cut=$(replay cut "$work/cut.bin")
python3 - "$work" <<'PYTHON'
import json, os, sys

def lines(name):
    return [json.loads(line) for line in open(f"{sys.argv[1]}/{name}.jsonl")]

*launches, last = lines("right")
summary = last["summary"]
print(summary)
assert os.environ["right"] == "0" and summary["failed"] == summary["lost_symbols"] == 0, summary
assert summary["launches"] == summary["bit_equal"] == len(launches) > 80, summary
symbols = {line["symbol"] for line in launches}
assert {"head_few", "k557_wgmma", "r6", "g64", "c2100", "m_t8", "m_prefill"} <= symbols, symbols
assert {f"a{problem}_decode" for problem in (0, 3, 6, 7, 8)} <= symbols, symbols

*launches, last = lines("planted")
found = {line["symbol"]: line for line in launches}
assert os.environ["planted"] == "1" and len(found) == 8, found
assert found["right"]["equal"] and found["right_again"]["equal"], found
assert not found["wrong"]["ok"] and 0.01 < found["wrong"]["worst"] < 0.05, found["wrong"]
assert not found["beyond"]["ok"], found["beyond"]
assert found["near_to"]["ok"] and not found["near_to"]["equal"], found["near_to"]
assert found["dies"]["error"].startswith("signal "), found["dies"]
assert found["hangs"]["error"] == "killed after 3 s", found["hangs"]
assert found["refused"]["error"].startswith("exit 4: E07"), found["refused"]
assert (last["summary"]["failed"], last["summary"]["lost_symbols"]) == (2, 3), last

*launches, last = lines("some")
assert os.environ["some"] == "0" and [line["symbol"] for line in launches] == ["right", "near_to"], launches
assert os.environ["cut"] == "3" and "E0389" in open(sys.argv[1] + "/cut.err").read()
PYTHON
