"""One diagnostic code: what it means, what causes it, and how to fix it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

SeverityName: TypeAlias = Literal["error", "warning", "remark"]


@dataclass(frozen=True)
class CodeEntry:
    """The entry of a code in docs/diagnostics.md and in ``tilewright explain``."""

    code: str
    title: str
    """The headline: what is wrong, in one line."""
    meaning: str
    """One to four sentences."""
    example: str
    """A short message, or the smallest kernel fragment that causes it."""
    fix: str
    """What to do, as an imperative."""
    severity: SeverityName = "error"
    """That of its usual use; the meaning names exceptions."""
