"""What a device function is: its text, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """One device function, or a type."""

    text: str
    needs: tuple[str, ...] = ()
    """Functions and types that it uses."""


def device(signature: str, body: str, needs: tuple[str, ...] = ()) -> Function:
    """A device function that is always inlined; `body` has no braces."""
    head, _, template = signature.rpartition("@")
    first = f"{head}\n" if head else ""
    return Function(f"{first}__device__ __forceinline__ {template} {{\n{body}\n}}", needs)
