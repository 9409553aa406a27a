"""clean_root_test.py PACKAGES CHECKPOINT WORK [--mirror URL]: tests packages installed on an otherwise empty system.

Roots are Debian 12 with only `Essential: yes` packages and apt (debootstrap, minbase), so without a toolchain,
Python or LLVM. In each root a package is installed as root, as its page describes. Then a user who can write only a
home folder compiles the checkpoint and runs it. After uninstalling, the test looks for leftovers. Needs root,
debootstrap and a Debian mirror; `./dev test --long` runs it where those are available.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

PROMPT = "The capital of Japan is"
figures = []


def run(*command, ok=True, **more):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **more)
    assert not ok or done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done


def sources(mirror):
    security = mirror.rstrip("/").removesuffix("/debian") + "/debian-security"
    return f"deb {mirror} bookworm main\ndeb {security} bookworm-security main\n"


class Root:
    """A copy of the base, entered through a separate mount namespace."""

    def __init__(self, name):
        self.path = options.work / name
        shutil.rmtree(self.path, ignore_errors=True)
        run("cp", "-a", "--reflink=auto", options.work / "base", self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def do(self, script, user=0, ok=True, ulimit=""):
        """Runs a shell script inside. /proc is mounted, as usual; the network is the machine's."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/home/user" if user else "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        inside = f"mount -t proc proc {self.path}/proc && mount --bind /dev {self.path}/dev && exec chroot --userspec={user}:{user} {self.path} /bin/sh -ec \"$SCRIPT\""
        return run("unshare", "--mount", "--propagation", "private", "sh", "-c", inside, env=environment | {"SCRIPT": script}, ok=ok).stdout

    def put(self, file, folder="/packages"):
        (self.path / folder.lstrip("/")).mkdir(exist_ok=True)
        shutil.copy(file, self.path / folder.lstrip("/"))

    def listing(self):
        skipped = ("proc", "dev", "home", "tmp", "packages", "var/log", "var/cache", "var/lib/apt", "var/lib/dpkg", "run", "root")
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*")
                if not str(path.relative_to(self.path)).startswith(skipped)}


def make_base():
    """Makes the base once: adds a user, and Debian's security archive in addition to the release."""
    base = options.work / "base"
    if not (base / "etc/passwd").exists():
        shutil.rmtree(base, ignore_errors=True)
        run("debootstrap", "--variant=minbase", "bookworm", base, options.mirror)
    (base / "etc/apt/sources.list").write_text(sources(options.mirror))
    shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
    # Copies this machine's proxy settings, if any: the proxies resolve host names.
    for name in pathlib.Path("/etc/apt/apt.conf.d").glob("*prox*"):
        shutil.copy(name, base / "etc/apt/apt.conf.d")
    shutil.copy("/etc/hosts", base / "etc/hosts")
    if "user:" not in (base / "etc/passwd").read_text():
        (base / "etc/passwd").write_text((base / "etc/passwd").read_text() + "user:x:1000:1000::/home/user:/bin/sh\n")
        (base / "etc/group").write_text((base / "etc/group").read_text() + "user:x:1000:\n")
    home = base / "home/user"
    home.mkdir(exist_ok=True)
    os.chown(home, 1000, 1000)


def only(pattern):
    found = sorted(options.packages.glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def answers(root, ingot, what):
    """Compiles and answers as a user, then answers from the cache; no other program can be started."""
    root.do("for tool in cc gcc clang ld ld.lld as python3; do ! command -v $tool; done" if what != "wheel" else "for tool in cc gcc clang ld ld.lld as; do ! command -v $tool; done")
    root.put(options.checkpoint, "/home/user")
    version = root.do(f"{ingot} --version", user=1000).strip()
    start = time.monotonic()
    # PATH leads nowhere, so that no program is found by its name.
    first = root.do(f"cd; I=$(command -v {ingot}); PATH=/nonexistent $I run {options.checkpoint.name} '{PROMPT}' -n 8 --greedy --quiet", user=1000)
    compiled = time.monotonic() - start
    start = time.monotonic()
    again = root.do(f"cd; {ingot} run {options.checkpoint.name} '{PROMPT}' -n 8 --greedy --quiet", user=1000)
    assert first == again and "Tokyo" in first, (first, again)
    figures.append(f"{what}: {version}; compiled and answered in {compiled:.1f} s, again in {time.monotonic() - start:.1f} s:{first.strip()!r}")


def tarball():
    with Root("tarball") as root:
        before = root.listing()
        file, runtime = only("ingot-[0-9]*.tar.gz"), only("ingot-runtime-*.tar.gz")
        for one in (file, runtime):
            root.put(one)
            root.do(f"mkdir -p /opt && tar -xzf /packages/{one.name} -C /opt")
        folder, small = f"/opt/{file.name.removesuffix('.tar.gz')}", f"/opt/{runtime.name.removesuffix('.tar.gz')}"
        answers(root, f"{folder}/bin/ingot", "tarball")
        # Moved and started through a link; then the runtime package, with the engine compiled by the other package.
        root.do(f"mv {folder} /srv/moved && ln -s /srv/moved/bin/ingot /usr/bin/ingot")
        root.do(f"cd; ingot run {options.checkpoint.name} '{PROMPT}' -n 2 --quiet; {small}/bin/ingot run .cache/ingot/*.ingot '{PROMPT}' -n 2 --quiet", user=1000)
        refused = root.do(f"{small}/bin/ingot compile /home/user/{options.checkpoint.name} -o /home/user/x.ingot 2>&1 || true", user=1000)
        assert "E0110" in refused, refused
        root.do(f"rm -rf /srv/moved {small} /usr/bin/ingot")
        assert root.listing() == before, root.listing() ^ before


def wheel():
    with Root("wheel") as root:
        root.do("apt-get update -q && apt-get install -q -y --no-install-recommends python3 python3-venv")
        root.put(only("ingot-*.whl"))
        root.do("python3 -m venv /opt/venv")
        # Files that pip writes on its first run are not ours.
        root.do("/opt/venv/bin/pip list -q")
        before = {name for name in root.listing() if "__pycache__" not in name}
        root.do("/opt/venv/bin/pip install --no-index --disable-pip-version-check /packages/*.whl")
        answers(root, "/opt/venv/bin/ingot", "wheel")
        program = ("import ingot, pathlib\n"
                   f"home = pathlib.Path.home()\ningot.compile(home / '{options.checkpoint.name}', home / 'py.ingot')\n"
                   f"with ingot.Engine(home / 'py.ingot') as e: print(e.generate('{PROMPT}', max_tokens=8).text)\n")
        (root.path / "tmp/program.py").write_text(program)
        said = root.do("/opt/venv/bin/python -I /tmp/program.py", user=1000)
        assert "Tokyo" in said, said
        root.do("/opt/venv/bin/pip uninstall -q -y ingot")
        after = {name for name in root.listing() if "__pycache__" not in name}
        assert after == before, after ^ before


def deb():
    with Root("deb") as root:
        for file in options.packages.glob("*.deb"):
            root.put(file)
        root.do("apt-get update -q")
        root.do("apt-get install -q -y --no-install-recommends /packages/ingot_*.deb")
        before = {name for name in root.listing() if "ingot" in name}
        missing = root.do(f"ingot run /etc/passwd x 2>&1 || true; ingot doctor 2>&1 || true")
        assert "E0131" in missing, missing
        root.do("apt-get install -q -y --no-install-recommends /packages/ingot-compiler_*.deb /packages/libingot-dev_*.deb")
        answers(root, "ingot", "deb")
        root.do("cd /usr && md5sum --quiet -c /var/lib/dpkg/info/ingot.md5sums 2>/dev/null || cd / && md5sum --quiet -c /var/lib/dpkg/info/ingot.md5sums")
        assert before, "nothing was installed"
        root.do("apt-get purge -q -y ingot ingot-compiler libingot-dev")
        left = {name for name in root.listing() if "ingot" in name}
        assert not left, left


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("packages", type=pathlib.Path)
parser.add_argument("checkpoint", type=pathlib.Path)
parser.add_argument("work", type=pathlib.Path)
parser.add_argument("--mirror", default="http://deb.debian.org/debian")
parser.add_argument("--only", choices=("tarball", "wheel", "deb"), action="append")
options = parser.parse_args()
options.work = options.work.resolve()
options.work.mkdir(parents=True, exist_ok=True)
make_base()
for trial in (tarball, wheel, deb):
    if not options.only or trial.__name__ in options.only:
        trial()
print("\n".join(figures))
