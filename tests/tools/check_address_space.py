"""check_address_space.py INGOT ENGINE: under every `ulimit -v` there is an answer, or "there is not enough memory" with
exit code 3."""
import resource
import subprocess
import sys

ingot, engine = sys.argv[1:]
threads_refused = answered = 0
for kilobytes in range(24 << 10, 600 << 10, 16 << 10):
    ran = subprocess.run([ingot, "score", engine, "--ids", "5,6,7", "--threads", "24"], capture_output=True, text=True,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kilobytes << 10,) * 2))
    answered += ran.returncode == 0
    # 127: the system could not even load the program.
    assert ran.returncode in (0, 3, 127), (kilobytes, ran.returncode, ran.stderr)
    assert ran.returncode != 3 or "memory" in ran.stderr or "E0314" in ran.stderr, ran.stderr
    threads_refused += "threads started" in ran.stderr
assert threads_refused and answered, (threads_refused, answered)
