#!/usr/bin/env bash
# Makes one file that runs on another x86-64 Linux with an NVIDIA driver: `ingot`, its
# shared libraries except the C library, programs that check kernels, the GPU unit tests'
# launches, engines whose weights are generated at load, run.py.
#
#   bundle.sh [--dry-run] INGOT FOLDER [TARGET…]      targets: default cuda:sm_90a
#
# The file is FOLDER/ingot-gpu.tar.zst; FOLDER/unpack.py unpacks it where zstd is missing.
# Programs and unit tests must be in the same folder as INGOT; launches are recorded for
# sm_90a. With --dry-run everything is small and for the emulator.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
dry=0; if [ "${1:-}" = --dry-run ]; then dry=1; shift; fi
ingot=$1 out=$2; shift 2
targets=("$@"); [ ${#targets[@]} -gt 0 ] || targets=(cuda:sm_90a)
if [ $dry = 1 ]; then targets=(cuda-emulator:sm_90a); fi
most=30000000 # bytes
built=$(cd "$(dirname "$ingot")" && pwd)
fail() { echo "bundle.sh: $*" >&2; exit 1; }
command -v zstd >/dev/null || fail "there is no zstd here: ./dev setup installs it"

folder=$out/ingot-gpu
rm -rf "$folder" "$out/ingot-gpu.tar" "$out/ingot-gpu.tar.zst"
mkdir -p "$folder"/{bin,lib/gcc,engines,launches,references}
configs=$(mktemp -d)
trap 'rm -rf "$configs"' EXIT

# ---------------------------------------------------------------- programs and scripts

programs=(replay-launches check-kernels)
for program in "${programs[@]}" make-reference write-cuda-kernels; do
  [ -x "$built/$program" ] || fail "there is no $built/$program: build it first"
done
cp "$ingot" "${programs[@]/#/$built/}" "$folder/bin/"
if [ $dry = 0 ]; then strip "$folder"/bin/* 2>/dev/null || true; fi
# The C library is the target machine's own (2.34 or newer); everything else is included. GCC's libraries from this
# machine may need a newer C library, so they are in a separate folder, for machines that lack their own.
ldd "$folder"/bin/* | awk '$3 ~ /^\// {print $3}' |
  grep -vE '/(ld-linux|libc|libm|libdl|libpthread|librt|libresolv)[-.]' |
  sort -u | while read -r library; do
    case $library in
      */libstdc++.* | */libgcc_s.*) cp -L "$library" "$folder/lib/gcc/" ;;
      *) cp -L "$library" "$folder/lib/" ;;
    esac
  done
if [ $dry = 1 ]; then cp "$built/../lib/libingot-cuda-emulator.so" "$folder/lib/"; fi
cp "$here"/{run,runner,parts,ceilings,peers,triton_gemv,torch_model,report}.py "$here/predictions.json" "$folder/"
cp "$here/unpack.py" "$out/"
# If NVRTC is not found elsewhere, take it from the tests' virtual environment.
PYTHONPATH=$here:$(echo "$built"/../venv/lib/python*/site-packages) PYTHONDONTWRITEBYTECODE=1 \
  python3 - "$folder/ceilings.cubin" <<'PYTHON'
import sys
from ceilings import SOURCE
from nvrtc import Nvrtc
cubin, log = Nvrtc().compile(SOURCE, "ceilings", ["--std=c++17", "-default-device", "--gpu-architecture=sm_90a"])
if not cubin:
    sys.exit(f"bundle.sh: {log}")
open(sys.argv[1], "wb").write(cubin)
PYTHON

# Kernels as text, which sweep.py compiles and times on the target with other tuning macros.
if [ $dry = 1 ]; then models=(tiny); else models=(8b 1b); fi
"$built/write-cuda-kernels" "$folder/kernels" "${models[@]}"
mkdir "$folder/kernels/device"
cp "$root"/codegen/cuda/device/*.cuh "$folder/kernels/device/"
cp "$here"/{sweep,nvrtc}.py "$folder/"

# ---------------------------------------------------------------- launches

launches() { # TEST [OPTION…]
  local test=$1; shift
  echo "==> launches of ${test}Test"
  INGOT_RECORD_LAUNCHES=$folder/launches/$test.bin "$built/codegen-cuda-${test}Test" --gtest_brief=1 "$@" </dev/null
}
if [ $dry = 1 ]; then
  export INGOT_RECORD_TARGET=cuda-emulator
  launches Rows --gtest_filter='CudaRope.Tables'
else
  for test in Matmul FewTokens Attention Draw Rows Experts; do launches $test --gtest_also_run_disabled_tests; done
fi

# ---------------------------------------------------------------- engines

# config NAME HIDDEN FFN LAYERS HEADS KV_HEADS VOCABULARY: writes the configuration of a Llama of that shape
config() {
  cat >"$configs/$1.json" <<JSON
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16", "hidden_size": $2,
 "intermediate_size": $3, "num_hidden_layers": $4, "num_attention_heads": $5, "num_key_value_heads": $6,
 "head_dim": $(($2 / $5)), "vocab_size": $7, "max_position_embeddings": 65536, "rms_norm_eps": 1e-5,
 "rope_theta": 10000.0, "hidden_act": "silu", "attention_bias": false, "mlp_bias": false,
 "tie_word_embeddings": true, "bos_token_id": 1, "eos_token_id": 2}
JSON
}
# The code cache is next to the programs: engines share many kernels, and the next bundle reuses most of them.
gpu=(); for target in "${targets[@]}"; do gpu+=(--target "$target"); done
engine() { # CONFIG SUFFIX OPTION…
  local config=$1 name=$1$2; shift 2
  echo "==> $name"
  "$ingot" compile "$configs/$config.json" -o "$folder/engines/$name.ingot" --weights seed --seed 1 --quiet \
    --cache "$built/../bundle-cache" "$@"
}
# Writes the naive kernels that check-kernels compares an engine with, compiled with the same options (but without a
# CPU target, whose plan would come first).
reference() { # CONFIG SUFFIX OPTION…
  local config=$1 name=$1$2; shift 2
  "$ingot" compile "$configs/$config.json" --weights seed --seed 1 --quiet --emit plan "${gpu[@]}" "$@" |
    "$built/make-reference" --target "${targets[0]}" -o "$folder/references/$name.bin"
}
config tiny 256 768 2 4 2 1024
if [ $dry = 1 ]; then
  engine tiny -int4 --target cpu:avx2 "${gpu[@]}" --quantize int4-g64
  reference tiny -int4 --quantize int4-g64
else
  config 135m 576 1536 30 9 3 49152
  config 1b 2048 8192 16 32 8 128256
  config 8b 4096 14336 32 32 8 128256
  # One engine has PTX, to test that the driver compiles it at load. In all engines it would be half of the file.
  engine tiny -int4 --target cpu "${gpu[@]}" --target cuda:compute_80 --quantize int4-g64
  engine tiny -fp8 --target cpu "${gpu[@]}" --quantize fp8
  engine 135m "" --target cpu "${gpu[@]}"
  engine 135m -int8 --target cpu "${gpu[@]}" --quantize int8
  engine 1b "" "${gpu[@]}"
  engine 1b -int4 "${gpu[@]}" --quantize int4-g64
  engine 8b "" "${gpu[@]}"
  engine 8b -fp8 "${gpu[@]}" --quantize fp8
  engine 8b -fp8-kv8 "${gpu[@]}" --quantize fp8 --kv fp8
  engine 8b -int4 "${gpu[@]}" --quantize int4-g64
  engine 8b -int4-kv8 "${gpu[@]}" --quantize int4-g64 --kv fp8
  reference 8b ""
  reference 8b -fp8-kv8 --quantize fp8 --kv fp8
  reference 8b -int4 --quantize int4-g64
  reference 8b -int4-kv8 --quantize int4-g64 --kv fp8
fi

# ---------------------------------------------------------------- one file

commit=$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)
cat >"$folder/bundle.json" <<JSON
{"commit": "$commit", "targets": "${targets[*]}", "made": "$(date -u +%F)"}
JSON
rmdir "$folder/lib/gcc" 2>/dev/null || true
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner -cf "$out/ingot-gpu.tar" ingot-gpu
# A window of 128 MB, because engines and launches repeat the same kernels.
zstd -q --rm --long=27 "-$([ $dry = 1 ] && echo 3 || echo 19)" -T2 "$out/ingot-gpu.tar" -o "$out/ingot-gpu.tar.zst"
bytes=$(stat -c %s "$out/ingot-gpu.tar.zst")
printf '==> %s: %d.%d MB, unpacked %d MB\n' "$out/ingot-gpu.tar.zst" $((bytes / 1000000)) $((bytes / 100000 % 10)) \
  $(($(du -sb "$folder" | cut -f1) / 1000000))
[ $dry = 1 ] || [ "$bytes" -le "$most" ] || fail "more than $((most / 1000000)) MB"
