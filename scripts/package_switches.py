"""Count the calls of a command that go from one top-level package of Tilewright to another.

A switch is a call of a function whose nearest caller inside Tilewright is in another top-level
package (`dialects`, `ir`, `analysis` …). What xDSL or Python calls back counts from the package
that called them, generated NumPy source as a part of `targets`. A generator is called once, however
often it is resumed. What is executed while a module is imported is not counted: it belongs to the
start of the process.

    python scripts/package_switches.py -- compile examples/tile/gemm.py --target cuda:sm_90a
    python scripts/package_switches.py --rows 40 -- check examples/tlx/hopper_gemm_pingpong.py

prints the count, the pairs of packages, and the functions that are entered most often from another
package.
"""

from __future__ import annotations

import argparse
import inspect
import opcode
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import tilewright

_ROOT = f"{Path(tilewright.__file__).parent}/"
_MODULE_LEVEL = "<module>"
_GENERATED = ("<tilewright", "targets")
"""The beginning of the file names of generated source, and the package that it belongs to."""


class SwitchCounter:
    """A profiler of `sys.setprofile`: calls by package and function of caller and callee."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self._packages: dict[str, str | None] = {}

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        package = self._package(frame)
        if package is None or _is_resumed(frame) or frame.f_code.co_name == _MODULE_LEVEL:
            return
        caller = frame.f_back
        while caller is not None and self._package(caller) is None:
            caller = caller.f_back
        if caller is None or self._package(caller) == package:
            return
        if not _is_importing(caller):
            self.calls[_name(caller), _name(frame)] += 1

    def _package(self, frame: FrameType) -> str | None:
        """The top-level package of a frame's code; None outside Tilewright."""
        filename = frame.f_code.co_filename
        if filename not in self._packages:
            self._packages[filename] = _package_of(filename)
        return self._packages[filename]


def _package_of(filename: str) -> str | None:
    if filename.startswith(_GENERATED[0]):
        return _GENERATED[1]
    return _top(filename[len(_ROOT) :]) if filename.startswith(_ROOT) else None


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator goes on; when it is called, its frame is at the op that returns it."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_GENERATOR:
        return False
    last = frame.f_lasti
    return last >= 0 and opcode.opname[code.co_code[last]] != "RETURN_GENERATOR"


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == _MODULE_LEVEL and frame.f_code.co_filename.startswith(_ROOT):
            return True
        frame = frame.f_back
    return False


def _name(frame: FrameType) -> str:
    path = frame.f_code.co_filename[len(_ROOT) :].removesuffix(".py")
    return f"{path}:{frame.f_code.co_qualname}"


def count(arguments: Sequence[str]) -> Counter[tuple[str, str]]:
    """Calls across packages in one run of the program `tilewright`."""
    from tilewright.cli.main import run

    counter = SwitchCounter()
    sys.setprofile(counter)
    try:
        run(arguments)
    finally:
        sys.setprofile(None)
    return counter.calls


def _top(name: str) -> str:
    return name.partition("/")[0].partition(":")[0]


def _show(title: str, counts: Counter[str], rows: int) -> None:
    print(f"\n{title}")
    for name, times in counts.most_common(rows):
        print(f"{times:8}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=15, help="rows of each table")
    parser.add_argument("command", nargs="+", help="a command of `tilewright`, after `--`")
    options = parser.parse_args()
    calls = count(options.command)
    pairs, functions, edges = Counter[str](), Counter[str](), Counter[str]()
    for (caller, callee), times in calls.items():
        pairs[f"{_top(caller)} -> {_top(callee)}"] += times
        functions[callee] += times
        edges[f"{caller} -> {callee}"] += times
    print(f"{sum(calls.values())} switches between packages")
    _show("packages", pairs, options.rows)
    _show("functions entered from another package", functions, options.rows)
    _show("calls", edges, options.rows)


if __name__ == "__main__":
    main()
