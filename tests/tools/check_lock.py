"""check_lock.py INGOT ENGINE: `--lock` locks what it reports, or is refused with the limit and a solution."""
import ctypes
import resource
import subprocess
import sys

ingot, engine = sys.argv[1:]
DROP_FROM_BOUNDS, IPC_LOCK = 24, 14  # PR_CAPBSET_DROP, CAP_IPC_LOCK


def run(limit, *arguments):
    def confine():  # a privileged process has no limit
        ctypes.CDLL(None).prctl(DROP_FROM_BOUNDS, IPC_LOCK, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))

    return subprocess.run([ingot, *arguments], capture_output=True, text=True, preexec_fn=confine)


WAYS = (["run", engine, "hello", "-n", "2", "--threads", "1"], ["bench", engine, "-p", "8", "-n", "8", "--repeat", "1", "--threads", "1"])
for way in WAYS:
    for limit, allowed in (64 << 10, "64.0 KiB"), (0, "0 B"):
        refused = run(limit, *way, "--lock")
        assert refused.returncode == 3, refused
        assert refused.stderr.startswith("error[E0509]: the system does not permit --lock to lock this much memory"), refused.stderr
        assert f"this process may lock {allowed}" in refused.stderr and "ulimit -l unlimited" in refused.stderr, refused.stderr
    free = run(64 << 10, *way)
    assert free.returncode == 0 and "locked" not in free.stderr, free
most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
small = ("--context", "64")  # within any machine's limit
locks = run(most, *WAYS[0], "--lock", *small)
assert locks.returncode == 0 and " is locked; " in locks.stderr, locks
stated = subprocess.run([ingot, "inspect", engine, "--lock", *small], capture_output=True, text=True, check=True).stdout
assert "\n  locked " in stated, stated
