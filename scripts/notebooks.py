"""Run the notebooks of `docs/notebooks`, and keep their outputs in them.

    python -m scripts.notebooks            # run all, write the outputs
    python -m scripts.notebooks race       # one of them
    python -m scripts.notebooks --check    # run all, and fail if an output differs

A notebook is run in this process, in an IPython of its own, from the first cell to the last. An
error ends it, except in cells that have the tag ``raises-exception``. Outputs are those of a
computer without a GPU, which depend on nothing else: cells that measure say that they need one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from tilewright.report.notebook.cells import named

DIRECTORY = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
RAISES = "raises-exception"
"""The tag of Jupyter's own tools for cells that are meant to fail."""

Cell = dict[str, Any]
Output = dict[str, Any]


class CellFailed(Exception):
    """A cell raised that should not, or did not that should."""


class Runner:
    """One notebook's IPython."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self._values: list[Output] = []
        self._errors: list[Output] = []
        shell.display_trap.hook = self._show
        shell._showtraceback = self._note_error

    def _show(self, value: object) -> None:
        if value is None:
            return
        data, metadata = self.shell.display_formatter.format(value)
        self.shell.user_ns["_"] = value
        self._values.append(_output("execute_result", data, metadata))

    def _note_error(self, kind: type, error: BaseException, lines: Sequence[str]) -> None:
        self._errors.append(
            {
                "output_type": "error",
                "ename": kind.__name__,
                "evalue": named(str(error)),
                "traceback": list(lines),
            }
        )

    def run(self, cell: Cell, index: int) -> list[Output]:
        """Run a code cell; its outputs as a notebook has them."""
        self._values, self._errors = [], []
        with capture_output() as shown:
            done = self.shell.run_cell("".join(cell["source"]), store_history=True)
        failed = not done.success
        if failed != (RAISES in cell["metadata"].get("tags", ())):
            wrong = "\n".join(line for each in self._errors for line in each["traceback"])
            raise CellFailed(f"cell {index}: {wrong or 'did not raise'}\n{shown.stdout}")
        streams = [("stdout", shown.stdout), ("stderr", shown.stderr)]
        outputs: list[Output] = [
            {"output_type": "stream", "name": name, "text": _lines(text)}
            for name, text in streams
            if text
        ]
        outputs += [_output("display_data", each.data, each.metadata) for each in shown.outputs]
        for value in self._values:
            value["execution_count"] = index
        return [*outputs, *self._values, *self._errors]


def _output(kind: str, data: Any, metadata: Any) -> Output:
    texts = {name: _lines(value) for name, value in data.items()}
    return {"output_type": kind, "data": texts, "metadata": metadata or {}}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


@contextmanager
def runner() -> Iterator[Runner]:
    """An IPython of its own, and Python as it was after it."""
    before = {name: vars(sys).get(name) for name in ("ps1", "ps2", "ps3", "displayhook")}
    main = sys.modules["__main__"]
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    shell.history_manager.enabled = False
    try:
        yield Runner(shell)
    finally:
        InteractiveShell.clear_instance()
        sys.modules["__main__"] = main
        for name, value in before.items():
            if value is None:
                vars(sys).pop(name, None)
            else:
                setattr(sys, name, value)


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of running it."""
    cells: list[Cell] = []
    count = 0
    with runner() as one:
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell = {**cell, "execution_count": count, "outputs": one.run(cell, count)}
            cells.append(cell)
    return {**notebook, "cells": cells}


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def written(notebook: dict[str, Any]) -> str:
    """The text of the file, as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.notebooks")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    differing: list[str] = []
    for path in sorted(DIRECTORY.glob("*.ipynb")):
        if options.names and path.stem not in options.names:
            continue
        text = written(executed(read(path)))
        if options.check and text != path.read_text(encoding="utf-8"):
            differing.append(path.name)
        elif not options.check:
            path.write_text(text, encoding="utf-8")
    for name in differing:
        print(f"{name}: an output differs: run 'python -m scripts.notebooks', and read the diff")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
