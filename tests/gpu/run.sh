#!/usr/bin/env bash
# Everything that a GPU can tell, in one JSON file. Needs an NVIDIA driver (release 580 or newer) and
# nothing else: no CUDA, no compiler, no Python. `./dev gpu-bundle` makes the folder that this lies in.
#
#   ./run.sh [RESULTS.json]      the unit tests' launches repeated; all engines: answers of the GPU beside
#                                the CPU's, start, speed, launches; and, where python3 has torch, the same
#                                shapes in torch and the limits of the machine
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
results=${1:-$here/results.json}
libraries=${LD_LIBRARY_PATH:-} # torch wants its own
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ingot=$here/bin/ingot
"$ingot" --version >/dev/null 2>&1 || export LD_LIBRARY_PATH=$here/lib/gcc:$LD_LIBRARY_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quoted() { # stdin as a JSON string
  printf '"'
  sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/\t/ /g' | tr -d '\r\000-\010\013-\037' | sed -e ':a;N;$!ba;s/\n/\\n/g' | tr -d '\n'
  printf '"'
}

# measure NAME COMMAND…: {"exit":…, "seconds":…, "result": its standard output, "error": its standard error}. Output of
# --json is put in as it is.
measure() {
  local name=$1 start end code; shift
  start=$(date +%s.%N)
  timeout "${limit:-300}" "$@" >"$work/out" 2>"$work/err" </dev/null; code=$?
  end=$(date +%s.%N)
  printf '"%s":{"exit":%d,"seconds":%s,"result":' "$name" "$code" "$(awk "BEGIN{print $end-$start}")"
  if [ "$code" = 0 ] && head -c1 "$work/out" | grep -q '[[{]'; then cat "$work/out"; else quoted <"$work/out"; fi
  printf ',"error":'; quoted <"$work/err"; printf '}'
}

ids=1,2,3,40,5,6,70,8,9,10,11,12
echo "{\"prompt_ids\":[$ids]}" >"$work/one.jsonl"
{
  printf '{'
  measure gpu nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.memory --format=csv
  printf ',\n'; measure version "$ingot" --version
  for launches in "$here"/launches/*.gz; do gzip -dc "$launches" >"$work/$(basename "$launches" .gz)"; done
  printf ',\n'; measure unit_tests "$here/bin/replay-launches" "$work"/*.bin
  if python3 -c 'import torch' 2>/dev/null; then
    printf ',\n'; limit=540 measure torch env LD_LIBRARY_PATH="$libraries" python3 "$here/torch_peer.py"
  fi
  printf ',\n"engines":{'
  separator=
  for engine in "$here"/engines/*.ingot; do
    printf '%s\n"%s":{' "$separator" "$(basename "$engine" .ingot)"; separator=,
    echo "$(basename "$engine")" >&2
    measure cuda_score "$ingot" score "$engine" --ids "$ids" --json --device cuda --context 512
    printf ',\n'
    case $engine in *-gpu.ingot) ;; # too large for a CPU to answer in time
      *) measure cpu_score "$ingot" score "$engine" --ids "$ids" --json --device cpu --context 512; printf ',\n' ;;
    esac
    measure start "$ingot" run "$engine" --device cuda --prompts-file "$work/one.jsonl" -n 1 --json
    printf ',\n'
    measure bench "$ingot" bench "$engine" --device cuda -p 512,2048 -n 128 --parallel 8,64 -r 3 --format json
    printf ',\n'
    case $engine in */8b*) # what attention adds: 1 / tg128 at the depth - 1 / tg128, for 8192 positions of KV
      measure bench_deep "$ingot" bench "$engine" --device cuda -p 512 -n 128 --depth 0,8192 -r 3 --format json; printf ',\n' ;;
    esac
    measure roofline "$ingot" inspect "$engine" --roofline --json --device cuda
    printf '}'
  done
  printf '\n}}\n'
} >"$results"
echo "wrote $results" >&2
