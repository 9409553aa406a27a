#!/usr/bin/env bash
# Tries the packages in clean roots, which debootstrap makes. Mounts and chroots need root.
#
#   clean_roots.sh BUILD    BUILD has packages/ and checkpoints/smollm2.gguf
set -euo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ "$(id -u)" != 0 ]; then echo "not root: nothing was tried"; exit; fi
command -v debootstrap >/dev/null ||
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends debootstrap
"$build/venv/bin/python" "$here/clean_root_test.py" "$build/packages" "$build/checkpoints/smollm2.gguf" "$build/deploy"
