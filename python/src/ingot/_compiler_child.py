"""Runs in a separate process, which _compiler.py starts:  LIBRARY COMMAND ARGUMENT…

It imports nothing of the package, because this process needs only the compiler.
"""
import ctypes
import os
import sys


def main() -> int:
    try:
        library = ctypes.CDLL(sys.argv[1])
    except OSError as error:
        sys.stderr.write(f"error[E0594]: the compiler cannot be loaded\n  {error}\n  install LLVM and MLIR 22, which it links\n")
        return 70
    arguments = [b"ingot", *map(os.fsencode, sys.argv[2:])]
    status = library.ingotCompilerMain(len(arguments), (ctypes.c_char_p * len(arguments))(*arguments))
    ctypes.CDLL(None).fflush(None)
    return int(status)


if __name__ == "__main__":
    # With sys.exit, LLVM's destructors would run after Python's.
    os._exit(main())
