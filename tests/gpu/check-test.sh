#!/usr/bin/env bash
# Tests check-kernels without a GPU, with tiny engines on the emulator. Correct kernels pass. A weight (also of an
# expert), an element of V, a scale or an epilogue that differs from the reference is found.
#
#   check-test.sh BIN-FOLDER
set -euo pipefail
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target=cuda-emulator:sm_90a
cat >"$work/tiny.json" <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16", "hidden_size": 128,
 "intermediate_size": 200, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
 "head_dim": 32, "vocab_size": 300, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
 "rope_theta": 10000.0, "hidden_act": "silu", "attention_bias": false, "mlp_bias": false,
 "tie_word_embeddings": true, "bos_token_id": 1, "eos_token_id": 2}
JSON
# A model with experts whose rows fill no tile, sinks and biases.
cat >"$work/experts.json" <<'JSON'
{"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "dtype": "bfloat16", "hidden_size": 128,
 "intermediate_size": 72, "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"],
 "sliding_window": 128, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 300,
 "num_local_experts": 12, "num_experts_per_tok": 3, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
 "rope_theta": 10000.0, "hidden_act": "silu", "swiglu_limit": 7.0, "attention_bias": true,
 "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2}
JSON
make() { # NAME CONFIG OPTION…: makes the engine, its plan and its reference
  local name=$work/$1 config=$work/$2.json; shift 2
  "$bin/ingot" compile "$config" --weights seed --seed 1 --target $target --quiet -o "$name.ingot" "$@"
  "$bin/ingot" compile "$config" --weights seed --seed 1 --target $target --emit plan "$@" >"$name.mlir"
  "$bin/make-reference" "$name.mlir" --target $target -o "$name.reference"
}
check() { # RESULT ENGINE REFERENCE OPTION…: returns the exit status
  local result=$work/$1.jsonl engine=$work/$2.ingot reference=$work/$3.reference code=0; shift 3
  "$bin/check-kernels" "$engine" --reference "$reference" --device cuda-emulator --contexts 1,257,600 "$@" \
    >"$result" 2>"$result.err" || code=$?
  echo "$code"
}
make bf16 tiny
make fp8 tiny --quantize fp8 --kv fp8
make experts experts --quantize int8
make experts_fp8 experts --quantize fp8
export bf16=$(check bf16 bf16 bf16 --tokens 1,2,7,8,9,33,65,130)
export fp8=$(check fp8 fp8 fp8 --tokens 1,8,9,65,130)
export experts=$(check experts experts experts --tokens 1,3,4,17,65,300)
export experts_fp8=$(check experts_fp8 experts_fp8 experts_fp8 --only gate_up_0 --only linear_1 --tokens 257,300)
export planted_experts=$(check planted_experts experts experts --only gate_up_0 --only linear_1 --tokens 1,17,65,300 --plant)
export planted=$(check planted bf16 bf16 --tokens 1,9,65,130 --plant)
export planted_fp8=$(check planted_fp8 fp8 fp8 --tokens 1,9,65 --plant)
# Plants a wrong attention scale, and a residual that is subtracted.
sed -e '/kernel.attention/s/scale = [0-9.e+-]* : f32/scale = 1.800000e-01 : f32/' -e 's/arith.addf %\(arg[0-9]*\), %\(arg[0-9]*\) : f32/arith.subf %\1, %\2 : f32/' \
  "$work/bf16.mlir" >"$work/other.mlir"
cmp -s "$work/bf16.mlir" "$work/other.mlir" && { echo "check-test.sh: the plan reads otherwise now" >&2; exit 1; }
"$bin/make-reference" "$work/other.mlir" --target $target -o "$work/other.reference"
export other=$(check other bf16 other --tokens 1,65)
head -c 3000 "$work/bf16.reference" >"$work/cut.reference"
export cut=$(check cut bf16 cut)
python3 - "$work" <<'PYTHON'
import json, os, sys

def lines(name):
    *checks, last = [json.loads(line) for line in open(f"{sys.argv[1]}/{name}.jsonl")]
    return checks, last["summary"]

for name, families in (("bf16", "few t8 t16 t64 wgmma128 wgmma decode prefill"), ("fp8", "few t16 wgmma_fp8 decode prefill"),
                       ("experts", "few t8 t32 prefill wgmma many decode"), ("experts_fp8", "wgmma_fp8")):
    checks, summary = lines(name)
    print(name, summary)
    assert os.environ[name] == "0" and summary["failed"] == summary["lost_kernels"] == 0, checks
    seen = {check["variant"].split(at)[-1] for check in checks for at in ("_0_", "_1_", "_append_", "_norm_", "_keys_")}
    assert set(families.split()) <= seen, seen
    assert all(0 <= check["worst"] <= check["limit"] / 2 for check in checks), checks
for name in ("planted", "planted_fp8"):
    checks, summary = lines(name)
    assert os.environ[name] == "1" and summary["failed"] == len(checks) > 10, [check for check in checks if check["ok"]]
# Changes one code of the first expert: only the rows routed to it differ.
checks, summary = lines("planted_experts")
assert os.environ["planted_experts"] == "1" and summary["failed"] == len(checks) == 8, checks
checks, summary = lines("other")
wrong = {check["kernel"] for check in checks if not check["ok"]}
assert os.environ["other"] == "1" and wrong == {"attention_0", "residual_0", "residual_1"}, (wrong, checks)
assert os.environ["cut"] == "3" and "E0397" in open(sys.argv[1] + "/cut.jsonl.err").read()
PYTHON
