#!/usr/bin/env bash
# Installs Ray and its clients (requirements.txt) in an environment of their own.
#
#   fetch.sh BUILD    makes BUILD/ray-venv
set -euo pipefail
build=$(realpath "$1")
wanted=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/requirements.txt
python=$build/ray-venv/bin/python
if [ -x "$python" ] && cmp -s "$wanted" "$build/ray-venv/requirements.txt"; then exit; fi
python3 -m venv "$build/ray-venv"
"$python" -m pip install -q --disable-pip-version-check -r "$wanted"
cp "$wanted" "$build/ray-venv/requirements.txt"
