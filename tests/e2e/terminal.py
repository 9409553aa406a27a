"""Tests `ingot chat` in a real terminal (a pty): streaming, Ctrl-C, the commands, exit."""
import os
import pty
import select
import time

import suite as suites


class Terminal:
    def __init__(self, *command):
        try:
            self.pid, self.fd = pty.fork()
        except OSError as error:  # /dev/pts is not mounted
            raise suites.Skip(f"this machine has no terminals to give: {error}")
        if self.pid == 0:
            os.environ.update(TERM="xterm", NO_COLOR="1")
            os.execv(command[0], [str(x) for x in command])
        self.seen = ""

    def read_until(self, text, seconds=60):
        """The output up to and including `text`; the rest is kept for the next call."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.fd], [], [], left)[0]
            try:
                data = os.read(self.fd, 65536) if ready else b""
            except OSError:  # the other side has closed
                data = b""
            assert data, f"{text!r} did not come; so far: {self.seen[-500:]!r}"
            self.seen += data.decode(errors="replace")
        before, self.seen = self.seen.split(text, 1)
        return before + text

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self):
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def chat(ingot, checkpoint):
    terminal = Terminal(ingot.path, "chat", checkpoint.engines["fast"], "--greedy", "--ignore-eos", "--verbose")
    terminal.read_until(">>> ")
    terminal.type("Tell me a long story.\n")
    terminal.read_until("\n")
    terminal.read_until(" ")  # the first words: it streams
    terminal.type("\x03")
    terminal.read_until("[stopped]")
    terminal.read_until(">>> ")
    terminal.type("half a line\x03")  # at the prompt, Ctrl-C discards the line
    terminal.read_until("/bye ends the chat")
    terminal.read_until(">>> ")
    terminal.type("/set max-tokens 4\n")
    terminal.read_until(">>> ")
    terminal.type('"""one\n')
    terminal.read_until("... ")
    terminal.type('two"""\n')
    terminal.read_until("4 tokens at")
    terminal.read_until(">>> ")
    terminal.type("/show\n")
    shown = terminal.read_until("4 messages")
    assert "max-tokens          4" in shown, shown
    terminal.read_until(">>> ")
    terminal.type("/bye\n")
    code = terminal.wait()
    assert code == 0, f"exit code {code}"


def add(suite, ingot, checkpoint):
    if "fast" in checkpoint.engines:
        suite.check(f"{checkpoint.name}: chat in a terminal", lambda: chat(ingot, checkpoint))
