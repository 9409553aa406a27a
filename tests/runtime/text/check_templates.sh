#!/usr/bin/env bash
# Renders the chat templates of real models (tests/checkpoints/fetch.sh): results must match Python's Jinja, and no
# content may open a turn.
#
#   check_templates.sh BUILD    BUILD has bin/text-templates
set -euo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vocabularies=$build/vocabularies
python=$build/venv/bin/python
[ -d "$vocabularies/jinja2" ] ||
  "$python" -m pip install -q --disable-pip-version-check --target "$vocabularies/jinja2" jinja2==3.1.6
PYTHONPATH=$vocabularies/jinja2 "$python" "$here/make_template_cases.py" "$vocabularies/templates" \
  "$vocabularies/templates.json"
"$build/bin/text-templates" "$vocabularies/templates.json"
