"""``tilewright cache``: what the disk cache holds, and how to empty it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.cli.command_line import UsageError
from tilewright.cli.commands import CACHE
from tilewright.ir.passes import closest
from tilewright.targets.store.directory import NAME, open_directory
from tilewright.targets.store.eviction import Removed, clear
from tilewright.targets.store.limits import (
    DAYS,
    MEGABYTES,
    cache_dir,
    max_age_seconds,
    max_bytes,
)
from tilewright.targets.store.listing import DRAFTS, Listing, Stored, list_files

_ACTIONS = ("show", "clear")
_DAY = 24 * 60 * 60
_MAX_NAMES = 8
_UNITS = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True)
class _Seen:
    """The cache as it was found; without a listing there is none yet."""

    path: str
    listing: Listing | None

    @property
    def kinds(self) -> dict[str, list[Stored]]:
        stored = self.listing.stored if self.listing else ()
        found: dict[str, list[Stored]] = {each.kind: [] for each in stored}
        for each in stored:
            found[each.kind].append(each)
        return dict(sorted(found.items()))

    @property
    def foreign(self) -> tuple[str, ...]:
        return self.listing.foreign if self.listing else ()


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if any(argument in ("-h", "--help") for argument in arguments):
        sys.stdout.write(CACHE.help_text(program))
        return 0
    try:
        action, is_json = _parse(arguments)
        return _show(is_json) if action == "show" else _clear(is_json, program)
    except UsageError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return 2


def _parse(arguments: Sequence[str]) -> tuple[str, bool]:
    actions = [argument for argument in arguments if argument != "--json"]
    if not actions:
        raise UsageError("pass 'show' or 'clear'; try --help")
    for action in actions:
        if action.startswith("-"):
            raise UsageError(f"unknown command line argument '{action}'; try --help")
        if action not in _ACTIONS:
            close = closest(action, _ACTIONS)
            hint = f"did you mean '{close}'?" if close else "expected show or clear"
            raise UsageError(f"no action '{action}'; {hint}")
    if len(actions) > 1:
        raise UsageError(f"expected one action, found {' and '.join(actions)}")
    return actions[0], "--json" in arguments


def _seen() -> _Seen:
    base = cache_dir()
    try:
        with open_directory(base) as directory:
            return _Seen(str(directory.path), list_files(directory))
    except FileNotFoundError:
        return _Seen(str(base / NAME), None)
    except OSError as error:
        raise _refused(error) from None


def _refused(error: OSError) -> UsageError:
    where = error.filename or str(cache_dir())
    return UsageError(f"cannot use '{where}': {error.strerror or error}")


# -- show ----------------------------------------------------------------------------------------


def _show(is_json: bool) -> int:
    seen = _seen()
    text = json.dumps(_summary(seen), indent=2) + "\n" if is_json else _table(seen)
    sys.stdout.write(text)
    return 0


def _summary(seen: _Seen) -> dict[str, Any]:
    return {
        "directory": seen.path,
        "exists": seen.listing is not None,
        "max_bytes": max_bytes(),
        "max_age_days": round(max_age_seconds() / _DAY),
        "size_bytes": seen.listing.size_bytes if seen.listing else 0,
        "kinds": {
            kind: {
                "entries": len(entries),
                "size_bytes": sum(each.size_bytes for each in entries),
                "first_used": _date(min(each.used_ns for each in entries)),
                "last_used": _date(max(each.used_ns for each in entries)),
            }
            for kind, entries in seen.kinds.items()
        },
        "foreign": list(seen.foreign),
    }


def _table(seen: _Seen) -> str:
    lines = [
        f"directory  {seen.path}",
        f"limits     {_size(max_bytes())} ({MEGABYTES}), "
        f"{round(max_age_seconds() / _DAY)} days without use ({DAYS})",
    ]
    if not seen.kinds:
        lines += ["", "no entries"]
    else:
        rows = [("kind", "entries", "size", "last used (UTC)")]
        for kind, entries in seen.kinds.items():
            size = sum(each.size_bytes for each in entries)
            last = _date(max(each.used_ns for each in entries))
            rows.append((kind, str(len(entries)), _size(size), last))
        entries = [each for found in seen.kinds.values() for each in found]
        total = sum(each.size_bytes for each in entries)
        rows.append(("total", str(len(entries)), _size(total), ""))
        lines += ["", *_aligned(rows)]
    if seen.foreign:
        lines += ["", f"not written by Tilewright: {_names(seen.foreign)}"]
        lines += ["so nothing is removed by size or age, and nothing is added beyond the limit"]
    return "\n".join(lines) + "\n"


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        f"{kind:{widths[0]}}  {count:>{widths[1]}}  {size:>{widths[2]}}  {last}".rstrip()
        for kind, count, size, last in rows
    ]


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MAX_NAMES])
    rest = len(names) - _MAX_NAMES
    return f"{shown} and {rest} more" if rest > 0 else shown


def _size(size_bytes: int) -> str:
    size, unit = float(size_bytes), 0
    while size >= 1024 and unit + 1 < len(_UNITS):
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit and size < 100 else f"{size:.0f} {_UNITS[unit]}"


def _date(used_ns: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(used_ns / 1e9))


# -- clear ---------------------------------------------------------------------------------------


def _clear(is_json: bool, program: str) -> int:
    removed, left = _cleared()
    summary = {
        "directory": left.path,
        "removed": removed.files,
        "removed_bytes": removed.size_bytes,
        "left": sum(map(len, left.kinds.values())),
        "foreign": list(left.foreign),
    }
    if is_json:
        sys.stdout.write(json.dumps(summary, indent=2) + "\n")
    else:
        what = "entry" if removed.files == 1 else "entries"
        sys.stdout.write(f"{removed.files} {what} removed, {_size(removed.size_bytes)}\n")
    if left.foreign:
        sys.stderr.write(
            f"{program}: not written by Tilewright and left in '{left.path}': "
            f"{_names(left.foreign)}\n"
        )
    # What others are writing at the moment is no failure.
    remaining = [
        each.name for kind, found in left.kinds.items() if kind != DRAFTS for each in found
    ]
    stayed = [name for name in remaining if name in removed.refused]
    if stayed:
        sys.stderr.write(f"{program}: not removed: {_names(stayed)}\n")
    return 1 if stayed else 0


def _cleared() -> tuple[Removed, _Seen]:
    try:
        with open_directory(cache_dir()) as directory:
            removed = clear(directory)
            return removed, _Seen(str(directory.path), list_files(directory))
    except FileNotFoundError:
        return Removed(), _Seen(str(cache_dir() / NAME), None)
    except OSError as error:
        raise _refused(error) from None
