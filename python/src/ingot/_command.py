"""The `ingot` of a wheel: replaces this process with the program in the package."""
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "ingot"
    if not program.exists():
        sys.exit(
            "error[E0170]: this package holds no command line\n"
            f"  there is no file {program}: it was built as a library alone\n"
            "  install a wheel of ./dev package, or use the package by `import ingot`"
        )
    os.execv(program, [sys.argv[0], *sys.argv[1:]])
