"""``python -m tilewright.compat FILE``: a script for Triton or TileLang, run without a change.

The script sees its own arguments, its own directory on the path and ``__name__ == "__main__"``; its
exit code is the exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tilewright.compat.finder import TARGET_VARIABLE, install
from tilewright.compat.script import exit_code, run_file, run_module

_PROGRAM = "python -m tilewright.compat"
_TARGET = "--target"
_CANNOT_OPEN = 2
"""The interpreter's own exit code for a file it cannot open, or a command line it cannot read."""

_USAGE = f"""\
usage: {_PROGRAM} [--target TARGET] FILE [arguments]
       {_PROGRAM} [--target TARGET] -m MODULE [arguments]

Runs a script that imports triton or tilelang on Tilewright: its kernels are compiled by Tilewright
and run on the CPU, with every access checked. torch tensors stay in host memory, whatever their
device. The GPU that scripts find described is a Hopper; --target cuda:100, or the variable
TILEWRIGHT_COMPAT_TARGET, describes and compiles for another one.

examples:
  {_PROGRAM} vector_add.py --size 1000
  {_PROGRAM} --target cuda:100 blackwell_gemm.py
  {_PROGRAM} -m pytest tests/test_kernels.py
"""


def main(arguments: Sequence[str]) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        (sys.stdout if arguments else sys.stderr).write(_USAGE)
        return 0 if arguments else _CANNOT_OPEN
    first, *rest = arguments
    if first == _TARGET:
        if len(rest) < 2:
            sys.stderr.write(f"{_PROGRAM}: '{_TARGET}' needs a target and a FILE\n")
            return _CANNOT_OPEN
        os.environ[TARGET_VARIABLE], first, *rest = rest
    if first == "-m":
        if not rest:
            sys.stderr.write(f"{_PROGRAM}: '-m' needs the name of a module\n")
            return _CANNOT_OPEN
        if not _installed():
            return _CANNOT_OPEN
        return exit_code(lambda: run_module(rest[0], rest[1:]))
    if first.startswith("-"):
        sys.stderr.write(f"{_PROGRAM}: unknown flag '{first}'; try --help\n")
        return _CANNOT_OPEN
    if not Path(first).is_file():
        reason = "is a directory" if Path(first).is_dir() else "no such file"
        sys.stderr.write(f"{_PROGRAM}: cannot open '{first}': {reason}\n")
        return _CANNOT_OPEN
    if not _installed():
        return _CANNOT_OPEN
    return exit_code(lambda: run_file(first, rest))


def _installed() -> bool:
    """Serve the modules; False, with a sentence, if the target that was named is none."""
    try:
        install()
    except ValueError as problem:
        sys.stderr.write(f"{_PROGRAM}: {problem}\n")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
