#!/usr/bin/env bash
# Runs the SPDX project's own validator on the SBOMs of the tarballs.
#
#   sboms.sh BUILD    BUILD has packages/
set -euo pipefail
build=$(realpath "$1")
venv=$build/deploy/spdx
if [ ! -x "$venv/bin/pyspdxtools" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check spdx-tools==0.8.3
fi
for package in "$build"/packages/*.tar.gz; do
  tar -xzOf "$package" --wildcards '*/share/doc/ingot/sbom.spdx.json' >"$build/deploy/sbom.spdx.json"
  "$venv/bin/pyspdxtools" -i "$build/deploy/sbom.spdx.json"
done
