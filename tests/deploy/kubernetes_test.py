"""kubernetes_test.py [--ingot PROGRAM]: checks that chart and program agree. Needs neither helm nor a cluster.

The options that the chart passes exist in `ingot`; the metrics that autoscaling, the endpoint picker and the
page use are exposed. validate_objects.py checks objects against
schemas (`./dev test --long`).
"""
import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/kubernetes/helm/ingot"
parser = argparse.ArgumentParser()
parser.add_argument("--ingot")
options = parser.parse_args()

exposed = set(re.findall(r'"((?:vllm|ingot):[a-z0-9_]+)"', (ROOT / "runtime/service/Metrics.cpp").read_text()))
assert "vllm:num_requests_waiting" in exposed
for path in [*CHART.rglob("*.yaml"), *CHART.rglob("*.tpl"), ROOT / "docs/kubernetes.md"]:
    for name in re.findall(r"(?<!\w)((?:vllm|ingot):[a-z0-9_]{3,})", path.read_text()):
        assert name in exposed, f"{path.relative_to(ROOT)} speaks of {name}, which is not at /metrics"

version = re.search(r"project\(Ingot VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
chart = (CHART / "Chart.yaml").read_text()
assert re.search(rf'^version: {version}$', chart, re.M) and re.search(rf'^appVersion: "{version}"$', chart, re.M), "the chart is of another version"

if options.ingot:
    def known(command):
        text = subprocess.run([options.ingot, command, "--help"], capture_output=True, text=True).stdout
        return set(re.findall(r"--[a-z][a-z-]+", text))
    for template, command in (("deployment.yaml", "serve"), ("_helpers.tpl", "compile")):
        text = (CHART / "templates" / template).read_text()
        passed = set(re.findall(r"^ +- (--[a-z-]+)$", text, re.M))
        assert len(passed) > 1 and passed <= known(command), passed - known(command)
    # Kubernetes quantities become sizes in ingot's notation: Mi is MiB.
    for size in ("512MiB", "8GiB", "800M"):
        refused = subprocess.run([options.ingot, "serve", "/nonexistent.ingot", "--kv-memory", size], capture_output=True, text=True)
        assert "E0130" in refused.stderr, refused.stderr
print(f"{len(exposed)} metrics" + (", options of serve and compile" if options.ingot else ""))
