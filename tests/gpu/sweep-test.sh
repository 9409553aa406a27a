#!/usr/bin/env bash
# Tests a sweep without a GPU: variants of two tiny kernels are compiled, then "timed" on
# the fake driver, which loads a stand-in for every cubin. One kernel kills its process and
# one never returns; neither costs another variant its row.
#
#   sweep-test.sh BIN-FOLDER FAKE-LIBCUDA C-COMPILER PYTHON
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$1 libcuda=$2 compiler=$3 python=$4
PYTHONPATH=$(echo "$bin"/../venv/lib/python*/site-packages) # NVRTC
export PYTHONPATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -c "import sys; sys.path.insert(0, '$here'); import nvrtc; nvrtc.Nvrtc()" 2>"$work/why" ||
  { echo "skipped: $(tail -n 1 "$work/why")"; exit 77; }
"$bin/write-cuda-kernels" "$work/kernels" tiny
sweep=("$python" "$here/sweep.py" "$work/kernels" --headers "$here/../../codegen/cuda/device" --jobs 2
       --knob INGOT_DEPTH=2,4)
"${sweep[@]}" --dry-run --tokens 8 --kernels '*-o' '*-gate_up' --out "$work/dry.jsonl"
cat >"$work/stand-in.c" <<'C'
void gate_up_few(void *const *a, const unsigned *g) { __builtin_trap(); }
void gate_up_t8(void *const *a, const unsigned *g) {}
void gate_up_wgmma(void *const *a, const unsigned *g) {}
void o_t8(void *const *a, const unsigned *g) { for (volatile int i = 0; g[0] != 0; i = 0) {} }
C
"$compiler" -shared -nostdlib -ffreestanding -fPIC -Wl,--build-id=none -o "$work/stand-in.so" "$work/stand-in.c"
"${sweep[@]}" --tokens 1,8,200 --libcuda "$libcuda" --stand-in "$work/stand-in.so" --limit 3 --knob INGOT_STAGES=5 \
  --kernels '*-gate_up' '*-gate_up_few' --out "$work/timed.jsonl" >"$work/best.json"
"${sweep[@]}" --tokens 8 --libcuda "$libcuda" --stand-in "$work/stand-in.so" --limit 1 --kernels '*-o' --out "$work/hung.jsonl"
"$python" - "$work" <<'PYTHON'
import json, sys

def rows(name):
    return [json.loads(line) for line in open(f"{sys.argv[1]}/{name}.jsonl")]

dry, timed, hung = rows("dry"), rows("timed"), rows("hung")
assert len(dry) == 6 and all(r["error"] is None and r["us"] is None and 0 < r["registers"] < 256 for r in dry), dry
assert [r["knobs"] for r in dry[:3]] == [{}, {"INGOT_DEPTH": "2"}, {"INGOT_DEPTH": "4"}], dry
assert len(timed) == 18, timed
for row in timed:  # a launch of the fake driver takes a millisecond
    assert row["error"] == "died of signal 4" if row["symbol"] == "gate_up_few" else row["us"] == 1000, row
best = json.load(open(f"{sys.argv[1]}/best.json"))
assert [row["symbol"] for row in best["rows"]] == ["gate_up_t8", "gate_up_t8", "gate_up_wgmma"] and best["gpu"]["name"] == "Fake GPU", best
assert len(hung) == 3 and all("no answer" in row["error"] for row in hung), hung
print(f"{len(dry) + len(timed) + len(hung)} rows")
PYTHON
