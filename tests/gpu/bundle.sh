#!/usr/bin/env bash
# Makes one folder that runs on another x86-64 Linux with an NVIDIA driver: `ingot`, the libraries it
# needs beside the C library, the GPU unit tests' launches, engines whose weights are made at load, and
# run.sh.
#
#   bundle.sh INGOT FOLDER [TARGET…]       targets: cpu and cuda:sm_90a unless others are given
#
# Unit tests and replay-launches lie beside INGOT; launches are recorded for sm_90a.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ingot=$1 folder=$2; shift 2
targets=("$@"); [ ${#targets[@]} -gt 0 ] || targets=(cpu cuda:sm_90a cuda:compute_80)
rm -rf "$folder"
mkdir -p "$folder"/{bin,lib/gcc,engines,configs,launches}
built=$(dirname "$ingot")
cp "$ingot" "$built/replay-launches" "$folder/bin/"
strip "$folder"/bin/* 2>/dev/null || true
# The C library is the machine's own (2.34 or newer); everything else travels. GCC's libraries of this
# machine may want a newer C library than that one has: they lie apart, for machines without.
ldd "$ingot" "$built/replay-launches" | awk '$3 ~ /^\// {print $3}' | grep -vE '/(ld-linux|libc|libm|libdl|libpthread|librt|libresolv)[-.]' |
  sort -u | while read -r library; do
    case $library in */libstdc++.* | */libgcc_s.*) cp -L "$library" "$folder/lib/gcc/" ;; *) cp -L "$library" "$folder/lib/" ;; esac
  done
cp "$here"/{run.sh,torch_peer.py} "$folder/"
for test in Matmul FewTokens Attention Draw Rows; do
  echo "==> launches of ${test}Test"
  INGOT_RECORD_LAUNCHES=$folder/launches/$test.bin "$built/codegen-cuda-${test}Test" --gtest_brief=1 </dev/null
  gzip -9 "$folder/launches/$test.bin"
done

flags=(); for target in "${targets[@]}"; do flags+=(--target "$target"); done
gpu=(); for target in "${targets[@]}"; do case $target in cpu*) ;; *) gpu+=(--target "$target") ;; esac; done

# config NAME HIDDEN FFN LAYERS HEADS KV_HEADS VOCABULARY: a Llama of that shape
config() {
  cat >"$folder/configs/$1.json" <<JSON
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16", "hidden_size": $2,
 "intermediate_size": $3, "num_hidden_layers": $4, "num_attention_heads": $5, "num_key_value_heads": $6,
 "head_dim": $(($2 / $5)), "vocab_size": $7, "max_position_embeddings": 16384, "rms_norm_eps": 1e-5,
 "rope_theta": 10000.0, "hidden_act": "silu", "attention_bias": false, "mlp_bias": false,
 "tie_word_embeddings": true, "bos_token_id": 1, "eos_token_id": 2}
JSON
}
# engine CONFIG SUFFIX OPTION…
engine() {
  local config=$1 name=$1$2; shift 2
  echo "==> $name"
  "$ingot" compile "$folder/configs/$config.json" -o "$folder/engines/$name.ingot" --weights seed --seed 1 --quiet "$@"
}
config tiny 256 768 2 4 2 1024
config 135m 576 1536 30 9 3 49152
config 1b 2048 8192 16 32 8 128256
config 8b 4096 14336 32 32 8 128256
engine tiny -int4 "${flags[@]}" --quantize int4-g64
engine tiny -fp8 "${flags[@]}" --quantize fp8
engine 135m "" "${flags[@]}"
engine 135m -int8 "${flags[@]}" --quantize int8
engine 1b -gpu "${gpu[@]}"
engine 1b -int4-gpu "${gpu[@]}" --quantize int4-g64
engine 8b -gpu "${gpu[@]}"
engine 8b -fp8-gpu "${gpu[@]}" --quantize fp8
engine 8b -fp8-kv8-gpu "${gpu[@]}" --quantize fp8 --kv fp8
engine 8b -int4-gpu "${gpu[@]}" --quantize int4-g64
engine 8b -int4-invariant-gpu "${gpu[@]}" --quantize int4-g64 --batch-invariant
engine 8b -int4-kv8-gpu "${gpu[@]}" --quantize int4-g64 --kv fp8
rm -r "$folder/configs"

bytes=$(du -sb "$folder" | cut -f1)
echo "==> $folder: $((bytes / 1000000)) MB"
[ "$bytes" -le 60000000 ] || { echo "bundle.sh: more than 60 MB" >&2; exit 1; }
