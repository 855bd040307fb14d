"""Where the cache is and how large it may grow, by the environment; and its one warning.

    TILEWRIGHT_CACHE_DIR    else $XDG_CACHE_HOME/tilewright, else ~/.cache/tilewright
    TILEWRIGHT_CACHE_MB     2048; 0 stores nothing
    TILEWRIGHT_CACHE_DAYS   90; entries that were not used for longer are removed

A cache costs time, never results: a variable that cannot be read is reported once, and its default
applies.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

DIRECTORY = "TILEWRIGHT_CACHE_DIR"
MEGABYTES = "TILEWRIGHT_CACHE_MB"
DAYS = "TILEWRIGHT_CACHE_DAYS"
NOT_CACHED = "TW6212"

_DEFAULT_MB = 2048
_DEFAULT_DAYS = 90
_SECONDS_PER_DAY = 24 * 60 * 60
_warned: set[str] = set()


def cache_dir() -> Path:
    """The directory in force; it need not exist, and other files in it are not ours."""
    given = os.environ.get(DIRECTORY)
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "tilewright"
    try:
        return Path.home() / ".cache" / "tilewright"
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"tilewright-{os.getuid()}" / "cache"


def max_bytes() -> int:
    """How many bytes all entries together may have."""
    return _integer(MEGABYTES, _DEFAULT_MB, 0) * 1024 * 1024


def max_age_seconds() -> float:
    """How long an entry stays that is not used."""
    return _integer(DAYS, _DEFAULT_DAYS, 1) * _SECONDS_PER_DAY


def warn_once(topic: str, message: str) -> None:
    """One warning for each `topic` and process."""
    if topic not in _warned:
        _warned.add(topic)
        warnings.warn(f"warning[{NOT_CACHED}]: {message}", RuntimeWarning, stacklevel=2)


def _integer(variable: str, default: int, minimum: int) -> int:
    given = os.environ.get(variable, "").strip()
    if not given:
        return default
    # Ten digits: a number of days or megabytes that every later calculation can hold.
    if given.isascii() and given.isdecimal() and len(given) <= 10 and int(given) >= minimum:
        return int(given)
    warn_once(
        variable,
        f"{variable}={given!r} is invalid: expected an integer of at least {minimum}; "
        f"using {default}",
    )
    return default
