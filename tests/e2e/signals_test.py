"""Checks that children get the usual effect of signals, whatever their parent ignores (signals.py)."""
import os
import pathlib
import pty
import signal
import subprocess
import sys
import unittest

import signals

CHILD = ["sleep", "60"]


def start(where):
    """Starts `where`'s child with all signals ignored in between, as a background job of a shell has them."""
    program = f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\nimport signals_test\nsignals_test.{where}()"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)


def ignore():
    for number in signals.SENT:
        signal.signal(number, signal.SIG_IGN)


def in_pipe():
    ignore()
    signals.default_in_children()
    for number in signals.SENT:
        child = subprocess.Popen(CHILD)
        child.send_signal(number)
        assert child.wait(10) == -number, number


def in_terminal():
    ignore()
    signals.default_in_children()
    try:
        child, terminal = pty.fork()
    except OSError as error:  # /dev/pts is not mounted
        print(f"skipped: {error}")
        return
    if child == 0:
        os.execvp("sh", ["sh", "-c", "echo ready; exec sleep 60"])
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 100)
    os.write(terminal, b"\x03")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGINT


def itself():
    ignore()
    signals.default_in_children()
    for number in signals.SENT:
        os.kill(os.getpid(), number)
    print("alive")


def without():
    ignore()
    child = subprocess.Popen(CHILD)
    child.send_signal(signal.SIGINT)
    try:
        child.wait(0.5)
    except subprocess.TimeoutExpired:
        print("alive")
    child.kill()
    child.wait()


class Signals(unittest.TestCase):
    def check(self, where, said=""):
        done = start(where)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(said, done.stdout)

    def test_children_of_pipes(self):
        self.check("in_pipe")

    def test_ctrl_c_in_a_terminal(self):
        self.check("in_terminal")

    def test_the_test_itself_goes_on_ignoring_them(self):
        self.check("itself", "alive")

    def test_a_child_inherits_them_otherwise(self):
        self.check("without", "alive")


if __name__ == "__main__":
    unittest.main()
