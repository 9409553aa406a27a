"""render.py [--helm HELM] [--check]: renders the chart into manifests/, one file for each of examples/.

  --check    renders nothing: checks that the manifests match this chart and these examples. Needs no helm.

For users who have no helm or want to read the result. Helm's own labels are removed; a file's first line has a
hash of everything it was made from.
"""
import argparse
import hashlib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CHART, EXAMPLES, MANIFESTS = HERE / "helm/ingot", HERE / "examples", HERE / "manifests"
NAMESPACE, KUBERNETES = "ingot", "1.34.0"


def digest(example):
    """A hash of everything that a rendering depends on."""
    total = hashlib.sha256()
    for path in [*sorted(path for path in CHART.rglob("*") if path.is_file()), example, pathlib.Path(__file__).resolve()]:
        total.update(f"{path.relative_to(HERE)}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()[:32]


def plain(text):
    """Removes the lines that only Helm reads."""
    text = re.sub(r"^ +(helm\.sh/|app\.kubernetes\.io/managed-by:).*\n", "", text, flags=re.M)
    text = re.sub(r"^( *)annotations:\n(?:\1 +#.*\n)*(?!\1 )", "", text, flags=re.M)
    return re.sub(r"^# Source: .*\n", "", text, flags=re.M)


def render(helm, example):
    text = subprocess.run([helm, "template", example.stem, CHART, "--namespace", NAMESPACE, "--kube-version", KUBERNETES, "--values", example],
                          capture_output=True, text=True, check=True).stdout
    return (f"# Rendered by deploy/kubernetes/render.py from examples/{example.name}, {digest(example)}\n"
            f"# kubectl create namespace {NAMESPACE}; kubectl apply -n {NAMESPACE} -f THIS\n" + plain(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--helm", default="helm")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = []
    for example in sorted(EXAMPLES.glob("*.yaml")):
        target = MANIFESTS / example.name
        if not options.check:
            target.write_text(render(options.helm, example))
        elif not target.exists() or not target.read_text().startswith(f"# Rendered by deploy/kubernetes/render.py from examples/{example.name}, {digest(example)}\n"):
            stale.append(target.name)
    known = {path.name for path in EXAMPLES.glob("*.yaml")}
    stale += [path.name for path in MANIFESTS.glob("*.yaml") if path.name not in known]
    if stale:
        sys.exit(f"manifests/ is not of this chart: {', '.join(stale)}; run deploy/kubernetes/render.py")


if __name__ == "__main__":
    main()
