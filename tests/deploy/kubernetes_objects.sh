#!/usr/bin/env bash
# Checks the objects of the Helm chart against the schemas of Kubernetes and of custom resources (validate_objects.py).
# Helm and the definitions of custom resources come as Go modules, Kubernetes' schemas as a Python package.
#
#   kubernetes_objects.sh BUILD    installs into BUILD/deploy/kubernetes
set -euo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=$build/deploy/kubernetes go=$build/deploy/kubernetes/go
command -v go >/dev/null || { echo "there is no go, which helm is built with: nothing was checked"; exit; }
mkdir -p "$tools/crds"
export GOPATH=$go GOBIN=$tools/bin GOFLAGS=-modcacherw
[ -x "$tools/bin/helm" ] || go install helm.sh/helm/v3/cmd/helm@v3.22.0
while read -r module file; do
  go mod download "$module"
  cp -f "$go/pkg/mod/$module/$file" "$tools/crds/"
done <<'EOF'
sigs.k8s.io/gateway-api@v1.3.0 config/crd/standard/gateway.networking.k8s.io_httproutes.yaml
sigs.k8s.io/gateway-api-inference-extension@v1.5.0 config/crd/bases/inference.networking.k8s.io_inferencepools.yaml
sigs.k8s.io/gateway-api-inference-extension@v1.5.0 config/crd/bases/inference.networking.x-k8s.io_inferenceobjectives.yaml
github.com/kedacore/keda/v2@v2.17.2 config/crd/bases/keda.sh_scaledobjects.yaml
github.com/prometheus-operator/prometheus-operator@v0.84.0 example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml
EOF
[ -x "$tools/venv/bin/python" ] || python3 -m venv "$tools/venv"
"$tools/venv/bin/pip" install -q --disable-pip-version-check kubernetes-validate==1.37.0 jsonschema==4.26.0 pyyaml==6.0.4
"$tools/venv/bin/python" "$here/validate_objects.py" --helm "$tools/bin/helm" --crds "$tools/crds"
