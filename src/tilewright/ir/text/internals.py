"""The few places outside parsing and printing where xDSL keeps something we need to itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.irdl import IRDLOperation


def original_verifier(op: type[IRDLOperation]) -> Callable[[Any], None] | None:
    """The ``verify_`` in the source of `op`'s class.

    ``irdl_op_definition`` replaces it by one that first checks the definition in xDSL's own way
    and then calls the original, which lives on only in the closure of the replacement.
    """
    verify: Any = op.verify_
    names: tuple[str, ...] = verify.__code__.co_freevars
    if "custom_verify" not in names:
        return None
    return verify.__closure__[names.index("custom_verify")].cell_contents
