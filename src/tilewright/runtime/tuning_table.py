"""The best configurations of kernels by shape and hardware, in a file that can be committed.

    tilewright tune matmul.py -o tuned.json          tunes, and adds rows
    TILEWRIGHT_TUNING_TABLE=tuned.json python ...    takes configurations from there
    with tw.tuning_table("tuned.json"): ...          the same inside of a program

A row is found by the kernel's name, the arguments that its choice depends on, and the hardware. On
a computer without a GPU, where nothing is measured, the row of any hardware will do: the kernel
that is checked is the one that is launched. A configuration that the kernel does not have any more
is not taken, and one line reports that. Rows are sorted, so that tables can be merged as text.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

FORMAT = 1
VARIABLE = "TILEWRIGHT_TUNING_TABLE"
CPU = "cpu"


@dataclass(frozen=True)
class Row:
    """The choice for one kernel, one set of arguments and one hardware."""

    kernel: str
    arguments: Mapping[str, str]
    """What the choice depends on, as text."""
    hardware: str
    config: Mapping[str, Any]
    latency_ms: float | None = None
    measured: str = ""
    """How it was chosen: ``measured``, ``model``."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kernel, json.dumps(dict(self.arguments), sort_keys=True), self.hardware


@dataclass(frozen=True)
class TuningTable:
    """Rows by what they are found with."""

    rows: Mapping[tuple[str, str, str], Row]
    file: str = ""

    @staticmethod
    def of(rows: Iterable[Row], file: str = "") -> TuningTable:
        return TuningTable({row.key: row for row in rows}, file)

    def with_rows(self, rows: Iterable[Row]) -> TuningTable:
        """This table with further rows, which replace those of the same key."""
        return replace(self, rows={**self.rows, **{row.key: row for row in rows}})

    def find(self, kernel: str, arguments: Mapping[str, str], hardware: str) -> Row | None:
        """The row for a call; without a GPU that of any hardware, the first by its name."""
        requested = Row(kernel, arguments, hardware, {}).key
        found = self.rows.get(requested)
        if found is not None or hardware != CPU:
            return found
        others = sorted(key for key in self.rows if key[:2] == requested[:2])
        return self.rows[others[0]] if others else None

    def text(self) -> str:
        """What a file holds."""
        rows = [asdict(self.rows[key]) for key in sorted(self.rows)]
        lines = ",\n".join(f"    {json.dumps(row, sort_keys=True)}" for row in rows)
        body = f"[\n{lines}\n  ]" if rows else "[]"
        return f'{{\n  "format": {FORMAT},\n  "rows": {body}\n}}\n'


def read_table(file: str | Path) -> TuningTable:
    """The table in `file`.

    Raises:
        ValueError: if it is none.
        OSError: if it cannot be read.
    """
    text = Path(file).read_text(encoding="utf-8")
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']}, expected {FORMAT}")
        return TuningTable.of((Row(**row) for row in data["rows"]), str(file))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"'{file}' is not a tuning table: {error}") from None


_current: ContextVar[TuningTable | None] = ContextVar("tuning table", default=None)


@contextmanager
def tuning_table(file: str | Path | None) -> Generator[None]:
    """Inside the ``with``, tuned kernels take their configurations from `file`; None for none."""
    before = _current.set(TuningTable({}) if file is None else read_table(file))
    try:
        yield
    finally:
        _current.reset(before)


def current_table() -> TuningTable | None:
    """The table in force: that of a ``with``, else that of the environment."""
    table = _current.get()
    if table is not None:
        return table
    file = os.environ.get(VARIABLE)
    return _of_environment(file, os.getcwd()) if file else None  # noqa: PTH109


@cache
def _of_environment(file: str, _directory: str) -> TuningTable:
    try:
        return read_table(file)
    except OSError as error:
        raise ValueError(f"{VARIABLE}: cannot read '{file}': {error.strerror}") from None


def chosen(
    kernel: str,
    arguments: Mapping[str, str],
    hardware: Callable[[], str],
    configs: Sequence[Mapping[str, Any]],
) -> int | None:
    """The index of the configuration that the table in force has for a call."""
    table = current_table()
    if table is None or not table.rows:
        return None
    row = table.find(kernel, arguments, hardware())
    if row is None:
        return None
    requested = plain(row.config)
    for index, config in enumerate(configs):
        if plain(config) == requested:
            return index
    sys.stderr.write(
        f"{table.file}: the configuration of {kernel} for {_shown(arguments)} is none that it has "
        "now: it is tuned again\n"
    )
    return None


def _shown(arguments: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in arguments.items())


def plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as JSON has it."""
    return json.loads(json.dumps(dict(config), sort_keys=True, default=str))


# -- what tuners do --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """What became of one configuration."""

    config: Mapping[str, Any]
    latency_ms: float | None
    remark: str = ""


@dataclass(frozen=True)
class Tuned:
    """One choice of a tuner."""

    kernel: str
    arguments: Mapping[str, str]
    hardware: str
    trials: tuple[Tried, ...]
    best: Mapping[str, Any]
    how: str
    """``measured``, ``model``, or ``the first that compiles``."""
    function: str = ""
    """What was launched, where it is called otherwise."""

    @property
    def row(self) -> Row:
        times = [each.latency_ms for each in self.trials if each.config == self.best]
        return Row(
            self.kernel,
            dict(self.arguments),
            self.hardware,
            plain(self.best),
            times[0] if times else None,
            self.how,
        )


_observers: list[Callable[[Tuned], None]] = []


@contextmanager
def tuning_observed_by(observer: Callable[[Tuned], None]) -> Generator[None]:
    """Notify `observer` of every choice of a tuner inside the ``with``."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def is_observed() -> bool:
    return bool(_observers)


def notify(tuned: Tuned) -> None:
    for observer in _observers:
        observer(tuned)
