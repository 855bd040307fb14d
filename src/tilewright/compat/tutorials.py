"""``triton.language.extra.tlx.tutorials``: TLX's tutorials, which import each other.

They are files of a checkout of facebookexperimental/triton (``third_party/tlx/tutorials``), where
an installation has them as a package. The checkout is found by the script that is run or the
directory it is run from; ``TILEWRIGHT_TLX_TUTORIALS`` names the directory otherwise.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "triton.language.extra.tlx.tutorials"
VARIABLE = "TILEWRIGHT_TLX_TUTORIALS"

_IN_CHECKOUT = Path("third_party", "tlx", "tutorials")


def tutorials_directory() -> Path | None:
    """The directory of the tutorials, or None if there is no checkout in sight."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).resolve()
    return next((found for found in _candidates() if found.is_dir()), None)


def _candidates() -> Iterator[Path]:
    for entry in (*sys.path, ""):
        path = Path(entry or os.curdir).resolve()
        for directory in (path, *path.parents):
            if directory.name == _IN_CHECKOUT.name and directory.parent.name == "tlx":
                yield directory
            yield directory / _IN_CHECKOUT


def missing() -> str:
    """The message for a script whose tutorials are not found."""
    return (
        f"{PACKAGE} is not found: it is third_party/tlx/tutorials of a checkout of "
        f"facebookexperimental/triton; run a script inside the checkout, or set {VARIABLE}"
    )
