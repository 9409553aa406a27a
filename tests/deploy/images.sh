#!/usr/bin/env bash
# Tries the images under chroot, which needs root.
#
#   images.sh BUILD    BUILD has bin/ingot with its compiler, and checkpoints/smollm2.gguf
set -euo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ "$(id -u)" != 0 ]; then echo "not root: nothing was tried"; exit; fi
checkpoint=$build/checkpoints/smollm2.gguf engine=$build/deploy/smollm2.ingot
"$build/bin/ingot" compile "$checkpoint" -o "$engine" --quiet
"$build/venv/bin/python" "$here/image_test.py" "$build" "$engine" "$build/deploy/image" --checkpoint "$checkpoint"
