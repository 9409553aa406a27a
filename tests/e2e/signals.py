"""Gives the children of a test the usual effect of signals.

A program inherits the signals that its parent ignores. A shell ignores SIGINT for its background jobs, nohup ignores
SIGHUP, and lit's workers ignore SIGINT, so a test that sends one of these would wait for a child that never ends.
Signals with a handler are different: exec resets them to the default. This needs no code between fork and exec, which
would not be safe in a program with threads.
"""
import signal

SENT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def nothing(*_):
    """Makes a signal as harmless to this process as SIG_IGN did."""


def default_in_children():
    """Call it at the start, in the main thread. This process keeps ignoring the signals that it ignored before."""
    for number in SENT:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, nothing)
