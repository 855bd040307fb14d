"""Runs commands on the scripts that import Triton or TileLang, in a process of its own.

    python -m tests.cli.compat_driver < command lines as JSON > code and text of each as JSON

Compat replaces packages for good, so the tests' own process does without.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

from tilewright.cli import main


def outcome(arguments: list[str]) -> tuple[int, str]:
    """The exit code, and all that was printed."""
    printed, own = io.StringIO(), sys.modules["__main__"]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            code = main.run(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            sys.modules["__main__"] = own
    return code, printed.getvalue()


if __name__ == "__main__":
    found = [outcome(each) for each in json.load(sys.stdin)]
    json.dump(found, sys.stdout)
