"""The ``amd`` dialect: operations that only AMD GPUs have (``ops``), and the GPUs (``chips``).

The dialect is imported when it is first used: ``simt`` reads the table of GPUs for the size of a
warp, and the ops are built on ``simt``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def __getattr__(name: str) -> Dialect:
    if name != "Amd":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tilewright.dialects.amd.ops import Amd

    return Amd
