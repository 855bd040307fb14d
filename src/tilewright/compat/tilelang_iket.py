"""``tilelang.tools.cuda.iket``: marks in a kernel for a profiler, which is not there.

The marks are checked and listed in `event_table`; the kernel does not contain them, and no traces
are written. A notice states this.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.compat.notices import print_once
from tilewright.language import T
from tilewright.language.T.expressions import as_expr

_PAYLOADS = ("int32", "uint32", "float32")
_events: dict[tuple[str, str], dict[str, int | str]] = {}
_open_ranges: list[str] = []
_state = {"depth": 0, "payloads": 0}
_directory: list[Path | None] = [None]


@dataclass(frozen=True)
class PayloadSpec:
    """A number that a mark would record."""

    expr: Any
    dtype: str


def reset() -> None:
    """Forget the marks of earlier kernels."""
    _events.clear()
    _open_ranges.clear()


def event_table() -> list[dict[str, int | str]]:
    """The marks that kernels have, in their order."""
    return list(_events.values())


def payload(expr: Any, dtype: str | None = None) -> PayloadSpec:
    """A number for a mark, of 32 bits."""
    found = str(T.dtype(dtype)) if dtype is not None else str(as_expr(expr).dtype)
    if found not in _PAYLOADS:
        raise ValueError(f"iket.payload: the type is one of {', '.join(_PAYLOADS)}, got {found}")
    return PayloadSpec(expr, found)


def _event(name: str, kind: str, given: Any) -> None:
    if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"iket.{kind}: the name is a text that is not empty, got {name!r}")
    spec = given if given is None or isinstance(given, PayloadSpec) else payload(given)
    print_once("marks of tilelang.tools.cuda.iket are not recorded: there is no such profiler here")
    _events.setdefault(
        (kind, name),
        {
            "name": name,
            "event_id": len(_events) + 1,
            "kind": kind,
            "payload_type": "none" if spec is None else spec.dtype,
        },
    )


def mark(name: str, payload: Any = None) -> None:
    """A point in time."""
    _event(name, "mark", payload)


def range_push(name: str, payload: Any = None) -> None:
    """The beginning of a span of time."""
    _event(name, "range", payload)
    _open_ranges.append(name)


def range_pop(name: str | None = None) -> None:
    """The end of the span that began last."""
    if not _open_ranges:
        raise RuntimeError("iket.range_pop() without a range_push() before it")
    started = _open_ranges.pop()
    if name is not None and name != started:
        raise RuntimeError(f"iket.range_pop({name!r}) does not end the open range {started!r}")


range_start, range_end = range_push, range_pop


@contextmanager
def _span(name: str, payload: Any) -> Generator[None]:
    range_push(name, payload)
    yield
    range_pop(name)


def range(name: str, payload: Any = None) -> Any:
    """A span of time, around the body of a ``with``."""
    return _span(name, payload)


# -- sessions --------------------------------------------------------------------------------------


def enable(*, override: bool = True) -> None:
    """Kernels that are compiled from here on would be instrumented."""
    del override
    _state["depth"] += 1


def disable(*, restore: bool = True) -> None:
    del restore
    _state["depth"] = max(0, _state["depth"] - 1)


def is_enabled() -> bool:
    return _state["depth"] > 0


def enable_runtime_payloads() -> None:
    _state["payloads"] = 1


def disable_runtime_payloads() -> None:
    _state["payloads"] = 0


def runtime_payloads_enabled() -> bool:
    return _state["payloads"] > 0


@contextmanager
def session(
    *,
    reset_events: bool = True,
    override: bool = True,
    disable_on_exit: bool = True,
    output_dir: str | os.PathLike[str] | None = None,
    runtime_payloads: bool | None = None,
) -> Generator[None]:
    """The kernels that are compiled inside would be instrumented."""
    before = _state["payloads"], _directory[0]
    if reset_events:
        reset()
    if output_dir is not None:
        set_output_dir(output_dir)
    if runtime_payloads is not None:
        _state["payloads"] = int(runtime_payloads)
    enable(override=override)
    try:
        yield
    finally:
        if disable_on_exit:
            disable()
        _state["payloads"], _directory[0] = before


def set_output_dir(path: str | os.PathLike[str] | None) -> Path | None:
    """Where traces would be written."""
    _directory[0] = None if path is None else Path(path)
    return _directory[0]


def output_dir(default: str | os.PathLike[str] | None = None) -> Path | None:
    if _directory[0] is not None:
        return _directory[0]
    found = os.environ.get("TL_IKET_OUTPUT_DIR") or default
    return None if found is None else Path(found)


def output_path(name: str, *, directory: str | os.PathLike[str] | None = None) -> Path:
    """A file there; the directory is made."""
    base = output_dir(directory) or Path()
    base.mkdir(parents=True, exist_ok=True)
    return base / name


def trace_files(*, directory: str | os.PathLike[str] | None = None) -> list[Path]:
    """Traces that were written: none."""
    del directory
    return []


def profile_command(
    command: str | Sequence[str], *, directory: str | os.PathLike[str], **_: Any
) -> list[str]:
    """The command line of the profiler, which is not there."""
    program = shlex.split(command) if isinstance(command, str) else list(command)
    return [
        "python",
        "-m",
        "iket.cli.main",
        "--output-dir",
        str(directory),
        "profile",
        "--",
        *program,
    ]
