"""follow_page.py PAGE FOLDER: executes a page of the docs, literally, in FOLDER.

A fenced block under a line with a file's name (`Gate.td`:) becomes that file. Blocks of sh are run in order. For
each line of a block of text, the last output must have a line with its words in that order.
"""
import pathlib
import re
import subprocess
import sys


def blocks(page):
    """Yields (language, name of a file or None, text, line number)."""
    lines = page.read_text().split("\n")
    start = None
    for i, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start is None:
            start = i
            continue
        before = next((text for text in reversed(lines[:start]) if text), "")
        name = re.fullmatch(r"`(\S+)`:", before)
        yield lines[start][3:], name and name[1], "\n".join(lines[start + 1 : i]) + "\n", start + 1
        start = None


def main():
    page, folder = (pathlib.Path(name) for name in sys.argv[1:])
    printed, files, commands, shown = "", 0, 0, 0
    for language, name, text, number in blocks(page):
        if name:
            (folder / name).write_text(text)
            files += 1
        elif language == "sh":
            done = subprocess.run(["bash", "-e", "-c", text], cwd=folder, capture_output=True, text=True)
            printed = done.stdout
            log = folder / "log"
            assert done.returncode == 0, (
                f"{page}:{number}: exit {done.returncode}\n{text}{done.stdout[-2000:]}{done.stderr[-4000:]}"
                + (log.read_text()[-6000:] if log.exists() else "")
            )
            commands += 1
        elif language == "text":
            for line in text.splitlines():
                pattern = r".*".join(re.escape(word) for word in line.split())
                assert re.search(pattern, printed), f"{page}:{number}: there is no such line: {line}\n{printed}"
                shown += 1
    print(f"{files} files, {commands} blocks of commands, {shown} lines")


main()
