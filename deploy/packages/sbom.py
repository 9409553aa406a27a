"""The contents of a package: an SPDX 2.3 document, a notice in plain words, and the licences' own texts.

They are derived from the build itself, not from a list maintained by hand:
  - shared libraries that were copied in: the Debian package of each file
  - headers and static archives: every file that Ninja recorded for the packaged targets, by Debian package
  - Rust crates: those that cargo resolves for the crate of runtime/text, without build-only ones
  - npm packages: those of web/package-lock.json that the page is made of
Debian packages are named by their source package, as in Debian's security tracker.
"""
import datetime
import functools
import hashlib
import json
import pathlib
import re
import shutil
import subprocess

import elf
from tree import ROOT, sha256

TARGETS = ("bin/ingot", "lib/libingot.so.0", "lib/libingot-compiler.so", "lib/libingot-cuda-emulator.so")
LICENCE_FILES = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)([-._].*)?$")


# ---------------------------------------------------------------- Debian

@functools.cache
def _owners():
    """{file: Debian package} of all installed files."""
    owners = {}
    for listing in pathlib.Path("/var/lib/dpkg/info").glob("*.list"):
        package = listing.stem.partition(":")[0]
        for line in listing.read_text().splitlines():
            owners.setdefault(line, package)
    return owners


def debian_package(file):
    """The package that owns a file; None if no package does. Since Debian merged them, /lib is /usr/lib."""
    file = str(file)
    for name in (file, file.removeprefix("/usr"), str(pathlib.Path(file).resolve())):
        if name in _owners():
            return _owners()[name]
    return None


@functools.cache
def debian_source(package):
    """The (name, version) of a package's source package."""
    text = subprocess.run(["dpkg-query", "-W", "-f=${source:Package}\t${source:Version}\n", package], capture_output=True, text=True, check=True).stdout
    return tuple(text.splitlines()[0].split("\t"))


def linked_files(build, targets):
    """Files outside the sources and the build that the objects of these targets were built from."""
    def ninja(*arguments):
        return subprocess.run(["ninja", "-C", build, *arguments], capture_output=True, text=True, check=True).stdout.splitlines()

    inputs = {line for line in ninja("-t", "inputs", *targets) if not line.startswith("ninja:")}
    found, ours = set(), False
    for line in ninja("-t", "deps"):
        if line.startswith("    "):
            if ours:
                found.add(line.strip())
        elif ": #deps" in line:
            ours = line.partition(": #deps")[0] in inputs
    # Archives count only if they were passed to the linker by name.
    found |= {name for name in inputs if name.endswith(".a")}
    outside = (str(ROOT), str(build.resolve()))
    return {file for file in found if file.startswith("/") and not file.startswith(outside)}


# ---------------------------------------------------------------- Rust and npm

def crates():
    """The linked crates: (name, version, licence, folder)."""
    manifest = ROOT / "runtime/text/crate/Cargo.toml"
    text = subprocess.run(["cargo", "metadata", "--format-version=1", "--locked", "--offline", "--filter-platform=x86_64-unknown-linux-gnu",
                           f"--manifest-path={manifest}"], capture_output=True, text=True, check=True).stdout
    data = json.loads(text)
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    seen, waiting = set(), [data["resolve"]["root"]]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            package = packages[dependency["pkg"]]
            builds = any("proc-macro" in target["kind"] for target in package["targets"])
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]) and not builds and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    for package in sorted((packages[key] for key in seen), key=lambda p: (p["name"], p["version"])):
        yield package["name"], package["version"], (package["license"] or "").replace("/", " OR "), pathlib.Path(package["manifest_path"]).parent


def rust_library():
    """Rust's standard library: from rustup's toolchain, or from Debian's package."""
    version = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    root = pathlib.Path(subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip())
    texts = [root / "share/doc/rust/COPYRIGHT-library.html", *sorted(pathlib.Path("/usr/share/doc").glob("libstd-rust-*/copyright"))]
    return "rust-std", version, "MIT OR Apache-2.0", [text for text in texts if text.exists()][:1]


def npm_packages(modules):
    """The packages that the page imports: (name, version, licence, folder). Dependencies of their own command
    lines, such as KaTeX's, are not in the page."""
    lock = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
    for name in sorted(lock[""]["dependencies"]):
        package = lock[f"node_modules/{name}"]
        yield name, package["version"], package.get("license", ""), modules / name


# ---------------------------------------------------------------- the document

class Sbom:
    """The packages and files inside one of our packages: gathered first, then written."""

    def __init__(self, tree, documents, name, version, epoch):
        self.tree, self.documents, self.name, self.version = tree, documents, name, version
        self.created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.packages, self.texts, self.holds = {}, {}, {}
        self.add("Ingot", version, "ingot", "Apache-2.0 WITH LLVM-exception", [ROOT / "LICENSE"], f"pkg:generic/ingot@{version}", "what this package is")

    def add(self, name, version, kind, licence, texts, purl, how):
        key = re.sub(r"[^A-Za-z0-9.-]", "-", f"{kind}-{name}-{version}" if kind != "ingot" else "ingot")
        known = self.packages.setdefault(key, {"name": name, "version": version, "kind": kind, "licence": licence, "purl": purl, "how": set(), "texts": []})
        known["how"].add(how)
        for text in texts:
            target = self.documents / "licenses" / key / text.name
            if text.is_file() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text.read_bytes())
                target.chmod(0o644)
                known["texts"].append(target)
        return key

    def add_debian(self, package, how):
        source, version = debian_source(package)
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright")
        key = self.add(source, version, "debian", "", [], f"pkg:deb/debian/{source}@{version.replace(':', '%3A').replace('+', '%2B')}?arch=source", how)
        if not self.packages[key]["texts"] and text.is_file():
            target = self.documents / "licenses" / key / "copyright"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.read_bytes())
            self.packages[key]["texts"].append(target)
        return key

    def gather(self, build, parts):
        for name, file in sorted(self.tree.bundled.items()):
            package = debian_package(file)
            if not package:
                raise SystemExit(f"{file} is of no Debian package: its licence is not known, so it cannot be packed")
            self.holds[name] = self.add_debian(package, f"shared library {pathlib.Path(name).name}")
        # The libraries that a shared library of the target links are partly compiled into it, through their headers.
        targets = [name for name in TARGETS if (self.tree.root / name).exists()]
        for file in sorted(linked_files(build, targets)):
            package = debian_package(file)
            if package:
                self.add_debian(package, "static archive" if file.endswith(".a") else "headers")
        for name, version, licence, folder in crates():
            texts = sorted(path for pattern in ("*", "*/*") for path in folder.glob(pattern) if LICENCE_FILES.match(path.name))
            self.add(name, version, "crate", licence, texts, f"pkg:cargo/{name}@{version}", "compiled in")
        name, version, licence, texts = rust_library()
        self.add(name, version, "crate", licence, texts, f"pkg:cargo/{name}@{version}", "compiled in")
        if "command" in parts:
            modules = build / "page" / "node_modules"
            for name, version, licence, folder in npm_packages(modules):
                texts = sorted(path for path in folder.glob("*") if LICENCE_FILES.match(path.name))
                self.add(name, version, "npm", licence, texts, f"pkg:npm/{name}@{version}", "of the page")

    def notice(self):
        lines = [f"{self.name} {self.version}: what is inside, and under which licence. Texts are in licenses/.", ""]
        for key, package in sorted(self.packages.items()):
            lines.append(f"{package['name']} {package['version']}: {package['licence'] or 'see its file'}; {', '.join(sorted(package['how']))}"
                         f"; {key if package['texts'] else 'no text in its package'}")
        return "\n".join(lines) + "\n"

    def write(self, place):
        """Writes the notice, and the document at `place`, which lists every file but itself."""
        (self.documents / "NOTICE").write_text(self.notice())
        packages, extracted, files, relations = [], [], [], []
        for key, package in sorted(self.packages.items()):
            licence = package["licence"] or "NOASSERTION"
            if package["kind"] == "debian" and package["texts"]:
                licence = f"LicenseRef-{key}"
                extracted.append({"licenseId": licence, "name": f"debian/copyright of {package['name']}",
                                  "extractedText": f"The text is {self.tree.name(package['texts'][0])} of this package, sha256 {sha256(package['texts'][0])}"})
            packages.append({"SPDXID": f"SPDXRef-{key}", "name": package["name"], "versionInfo": package["version"], "downloadLocation": "NOASSERTION",
                             "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION",
                             "comment": ", ".join(sorted(package["how"])),
                             "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": package["purl"]}]})
            if key != "ingot":
                relations.append({"spdxElementId": "SPDXRef-ingot", "relationshipType": "CONTAINS", "relatedSpdxElement": f"SPDXRef-{key}"})
        for number, path in enumerate(path for path in self.tree.files() if path != place and not path.is_symlink()):
            name = self.tree.name(path)
            identifier = f"SPDXRef-file-{number}"
            files.append({"SPDXID": identifier, "fileName": f"./{name}", "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
                          "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(path.read_bytes()).hexdigest()},
                                        {"algorithm": "SHA256", "checksumValue": sha256(path)}],
                          "fileTypes": ["BINARY" if elf.is_elf(path) else "TEXT"]})
            relations.append({"spdxElementId": "SPDXRef-ingot", "relationshipType": "CONTAINS", "relatedSpdxElement": identifier})
            if name in self.holds:
                relations.append({"spdxElementId": identifier, "relationshipType": "GENERATED_FROM", "relatedSpdxElement": f"SPDXRef-{self.holds[name]}"})
        # All files of our own package were analysed, except this document.
        sums = "".join(sorted(file["checksums"][0]["checksumValue"] for file in files))
        next(package for package in packages if package["SPDXID"] == "SPDXRef-ingot").update(
            filesAnalyzed=True, packageVerificationCode={"packageVerificationCodeValue": hashlib.sha1(sums.encode()).hexdigest(),
                                                         "packageVerificationCodeExcludedFiles": [f"./{self.tree.name(place)}"]})
        digest = hashlib.sha256(json.dumps([packages, files], sort_keys=True).encode()).hexdigest()
        relations.insert(0, {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-ingot"})
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{self.name}-{self.version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/{self.name}-{self.version}-{digest[:32]}",
            "creationInfo": {"created": self.created, "creators": [f"Tool: ingot-deploy-packages-{self.version}"]},
            "packages": packages, "files": files, "hasExtractedLicensingInfos": extracted, "relationships": relations}, indent=1) + "\n")


def write_sbom(tree, documents, place, build, parts, name, version, epoch):
    """Writes the licences, notice and document of a tree's contents. `documents` is the folder of the first two."""
    shutil.rmtree(documents / "licenses", ignore_errors=True)
    documents.mkdir(parents=True, exist_ok=True)
    sbom = Sbom(tree, documents, name, version, epoch)
    sbom.gather(build, parts)
    sbom.write(place)
    return sbom
