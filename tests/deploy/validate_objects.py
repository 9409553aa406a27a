"""validate_objects.py --helm HELM --crds FOLDER: checks that a cluster accepts what the chart renders.

Needs helm, PyPI's kubernetes-validate and jsonschema, and a folder of custom resource definitions; `./dev test
--long` fetches them. Renderings of the examples and of many values are checked against the API's own schemas,
strictly (a field that no schema has is an error), of the oldest and the newest version; custom kinds against the
definitions of their projects. Then it checks what no schema covers: selectors, ports, mounts, security. Bad values
must be rejected with helpful messages.
"""
import argparse
import itertools
import pathlib
import subprocess
import sys

import jsonschema
import kubernetes_validate
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART, EXAMPLES = ROOT / "deploy/kubernetes/helm/ingot", ROOT / "deploy/kubernetes/examples"
VERSIONS = ("1.30", "1.37")  # the chart's kubeVersion, and the newest version
BASE = ["model.checkpoint=hf:org/name", "apiKeys.secret=keys"]
CHECKPOINT = ["model.checkpoint=m.gguf", "storage.checkpoints.claim=c", "apiKeys.secret=keys"]
VARIANTS = [
    BASE, CHECKPOINT, [*CHECKPOINT, "compile.where=job", "storage.engines.claim=e", "storage.engines.path=a/b", "imagePullSecrets[0].name=p"],
    ["model.engine=e.ingot", "storage.engines.claim=e", "apiKeys.secret=keys", "autoscaling.kind=hpa", "service.type=LoadBalancer"],
    [*BASE, "autoscaling.kind=keda", "serviceMonitor.enabled=true", "serviceMonitor.labels.release=p", "podDisruptionBudget.maxUnavailable=25%"],
    [*BASE, "gateway.enabled=true", "gateway.objectives[0].name=a", "gateway.objectives[0].priority=-1", "gateway.hostnames[0]=m.example.com",
     "gateway.parent.namespace=infra", "gateway.parent.sectionName=https"],
    [*BASE, "nodeSelector.disk=ssd", "tolerations[0].key=a", "tolerations[0].operator=Exists", "podLabels.team=x", "podAnnotations.a=b",
     "compile.hubTokenSecret=hub", "compile.arguments[0]=--quantize", "compile.arguments[1]=int8", "server.arguments[0]=--fair", "podDisruptionBudget.enabled=false"],
]
REFUSED = [
    ([], "there is nothing to serve"), ([*BASE, "model.engine=e.ingot"], "are both given"), (["model.checkpoint=hf:a/b"], "apiKeys.secret is missing"),
    (["model.checkpoint=m.gguf", "apiKeys.secret=k"], "storage.checkpoints.claim"), (["model.engine=e.ingot", "apiKeys.secret=k"], "storage.engines.claim"),
    ([*CHECKPOINT, "compile.where=job"], "shared volume"), ([*BASE, "compile.where=elsewhere"], "'pod', 'job'"), ([*BASE, "server.maxSeqs=0"], "minimum"),
    ([*BASE, "server.kvMemory=plenty"], "does not match pattern"), ([*BASE, "server.contxt=5"], "'contxt' not allowed"), ([*BASE, "autoscaling.kind=vpa"], "'keda'"),
    ([*BASE, "autoscaling.minReplicas=9"], "is more than maxReplicas"), ([*BASE, "autoscaling.kvUse=80"], "maximum"), ([*BASE, "gateway.picker.failureMode=Maybe"], "'FailOpen'"),
    ([*BASE, "model.name=a/b"], "does not match pattern"), ([*BASE, "storage.engines.path=../x"], "does not match pattern"), ([*BASE, "replicas=two"], "got string"),
    ([*BASE, "autoscaling.keda.prometheus=prometheus:9090"], "does not match pattern"), ([*BASE, "gateway.picker.image=epp"], "does not match pattern"),
]


def helm(*arguments):
    return subprocess.run([options.helm, *map(str, arguments)], capture_output=True, text=True)


def render(*arguments):
    return helm("template", "release", CHART, "--namespace", "llm", "--kube-version", "1.34.0", *arguments)


def closed(schema):
    """The same schema, but undescribed fields are errors; the API server prunes them."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    new = {key: {name: closed(one) for name, one in value.items()} if key == "properties" else closed(value) for key, value in schema.items()}
    if "properties" in new and not new.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in new:
        new["additionalProperties"] = False
    if new.get("x-kubernetes-int-or-string"):
        new.pop("type", None)
    return new


def definitions(folder):
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if document and document.get("kind") == "CustomResourceDefinition":
                for version in document["spec"]["versions"]:
                    schema = closed(version["schema"]["openAPIV3Schema"])
                    schema["properties"] |= {"metadata": {"type": "object"}}
                    found[f"{document['spec']['group']}/{version['name']}", document["spec"]["names"]["kind"]] = schema
    return found


def check_object(thing, crds):
    kind = (thing["apiVersion"], thing["kind"])
    if kind in crds:
        jsonschema.Draft7Validator(crds[kind]).validate(thing)
        return
    for version in VERSIONS:
        kubernetes_validate.validate(thing, version, strict=True)


def pods(things):
    for thing in things:
        if thing["kind"] in ("Deployment", "Job"):
            yield thing, thing["spec"]["template"]["metadata"]["labels"], thing["spec"]["template"]["spec"]


def check_together(things):
    """Checks what a schema does not cover."""
    names = {(thing["kind"], thing["metadata"]["name"]) for thing in things}
    assert len(names) == len(things), "two objects of one kind and name"
    labels = [own for _, own, _ in pods(things)]
    for thing, own, spec in pods(things):
        selector = thing["spec"].get("selector", {}).get("matchLabels", {})
        assert selector.items() <= own.items(), thing["metadata"]["name"]
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        volumes = {volume["name"] for volume in spec["volumes"]}
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"] and security["capabilities"] == {"drop": ["ALL"]}
            assert "command" not in container, "images have an entry point and no shell"
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            assert container["resources"]["limits"]["memory"] and container["resources"]["requests"]["cpu"]
            assert ":" in container["image"] and not container["image"].endswith(":latest")
        if spec.get("serviceAccountName"):
            assert ("ServiceAccount", spec["serviceAccountName"]) in names
        server = next((c for c in spec["containers"] if c["name"] == "serve"), None)
        if server:
            drain = int(server["args"][server["args"].index("--drain") + 1])
            assert spec["terminationGracePeriodSeconds"] > drain + server["lifecycle"]["preStop"]["sleep"]["seconds"]
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert server[probe]["httpGet"] == {"path": "/health", "port": "http"}
            compiler = next((c for c in spec.get("initContainers", [])), None) or next((c for t, _, s in pods(things) if t["kind"] == "Job" for c in s["containers"]), None)
            if compiler:
                assert compiler["args"][compiler["args"].index("--link") + 1] == server["args"][1], "what is compiled is what is served"
    for thing in things:
        if thing["kind"] in ("Service", "PodDisruptionBudget", "InferencePool"):
            selector = thing["spec"]["selector"]
            selector = selector.get("matchLabels", selector)
            assert sum(selector.items() <= own.items() for own in labels) == 1, f"{thing['kind']} {thing['metadata']['name']} selects not one kind of pods"
        if thing["kind"] in ("HorizontalPodAutoscaler", "ScaledObject"):
            assert ("Deployment", thing["spec"]["scaleTargetRef"]["name"]) in names
            assert all("replicas" not in t["spec"] for t in things if t["kind"] == "Deployment" and t["metadata"]["name"] == thing["spec"]["scaleTargetRef"]["name"])
        if thing["kind"] == "InferencePool":
            assert ("Service", thing["spec"]["endpointPickerRef"]["name"]) in names
        if thing["kind"] in ("HTTPRoute", "InferenceObjective"):
            pools = [thing["spec"]["poolRef"]["name"]] if "poolRef" in thing["spec"] else [b["name"] for r in thing["spec"]["rules"] for b in r["backendRefs"]]
            assert all(("InferencePool", pool) in names for pool in pools)


def main():
    crds = definitions(options.crds)
    assert {kind for _, kind in crds} >= {"InferencePool", "InferenceObjective", "HTTPRoute", "ScaledObject", "ServiceMonitor"}, crds.keys()
    lint = helm("lint", "--strict", CHART, "--values", EXAMPLES / "small.yaml")
    assert lint.returncode == 0 and "0 chart(s) failed" in lint.stdout, lint.stdout + lint.stderr
    sets = [["--values", path] for path in sorted(EXAMPLES.glob("*.yaml"))]
    sets += [list(itertools.chain.from_iterable(("--set", one) for one in variant)) for variant in VARIANTS]
    kinds, count = set(), 0
    for arguments in sets:
        done = render(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        things = [thing for thing in yaml.safe_load_all(done.stdout) if thing]
        for thing in things:
            try:
                check_object(thing, crds)
            except (jsonschema.ValidationError, kubernetes_validate.ValidationError) as error:
                sys.exit(f"{thing['kind']} {thing['metadata']['name']}, {arguments}: {error.message} at {list(error.path)}")
        check_together(things)
        kinds |= {thing["kind"] for thing in things}
        count += len(things)
    # Tests the check itself: it finds an extra field and a wrong type, in the API's kinds and in others.
    for kind, spoil in (("Deployment", lambda t: t["spec"].update(replica=1)), ("Service", lambda t: t["spec"]["ports"][0].update(port="x")),
                        ("InferencePool", lambda t: t["spec"].update(selektor={})), ("HTTPRoute", lambda t: t["spec"].update(hostnames=3))):
        thing = next(t for t in yaml.safe_load_all(render("--values", EXAMPLES / "gateway.yaml").stdout) if t and t["kind"] == kind)
        spoil(thing)
        try:
            check_object(thing, crds)
        except (jsonschema.ValidationError, kubernetes_validate.ValidationError):
            continue
        sys.exit(f"a {kind} that cannot be was not refused")
    for values, words in REFUSED:
        done = render(*itertools.chain.from_iterable(("--set", value) for value in values))
        assert done.returncode and words in done.stderr, f"{values}: '{words}' is not in: {done.stdout[:200]}{done.stderr}"
    print(f"{count} objects of {len(kinds)} kinds, {len(sets)} renderings, Kubernetes {' and '.join(VERSIONS)}; {len(REFUSED)} bad values refused")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--helm", required=True)
parser.add_argument("--crds", required=True)
options = parser.parse_args()
main()
