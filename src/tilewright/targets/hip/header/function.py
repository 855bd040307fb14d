"""What a device function is: its text, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """One device function, or a type."""

    text: str | Callable[[], str]
    """Or what makes it, where constants have to be computed first."""
    needs: tuple[str, ...] = ()
    """Functions and types that it uses."""

    def written(self) -> str:
        text = self.text if isinstance(self.text, str) else self.text()
        return text.strip("\n")


def device(signature: str, body: str, needs: tuple[str, ...] = ()) -> Function:
    """A device function that is always inlined; `body` has no braces."""
    head, _, template = signature.rpartition("@")
    first = f"{head}\n" if head else ""
    return Function(f"{first}__device__ __forceinline__ {template} {{\n{body}\n}}", needs)
