#!/usr/bin/env bash
# Tests Ingot in Ray Serve, in the environment that fetch.sh makes.
#
#   check.sh BUILD    BUILD has ingot, ingot-server-shared, ingot-shared and ingot-embed-test-engine
set -euo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$build/ray-venv/bin/python
ingot=$build/bin/ingot engine=$build/tests/embed/test.ingot
"$python" "$here/ingress_test.py" "$build/lib/libingot-server.so.0" "$ingot" "$engine"
"$python" "$here/run.py" --ingot "$ingot" --engine "$engine" --work "$build/ray" --report "$build/ray/figures.json" \
  --requests 5000
