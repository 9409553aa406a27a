"""Checks that the README's first example gives its stated answer, and would on another
machine: no near tie decides it."""
import pathlib
import re

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
LEAD = 0.8  # of log-probability; int8 rows change a difference by 0.08 on average, 0.37 at most (docs/numerics.md)


def example(ingot, checkpoint):
    found = re.search(r'^\$ build/bin/ingot run --chat \S+ "(.+)"\n(.+)$', README.read_text(), re.M)
    assert found, "the README has no example with an answer"
    question, answer = found.groups()
    for engine in checkpoint.engines.values():
        got = ingot.json("run", engine, question, "--chat", "-n", 40, "--logprobs", 2)
        assert got["text"] == answer, f"{engine.name}: {got['text']!r}, the README says {answer!r}"
        leads = [best[1] - second[1] for _, best, second in got["logprobs"]]
        assert min(leads) > LEAD, f"{engine.name}: a token leads by {min(leads):.2f} alone"
    return f"least lead {min(leads):.2f}"


def add(suite, ingot, checkpoint):
    suite.check("readme: the first example is right, without a near tie", lambda: example(ingot, checkpoint))
