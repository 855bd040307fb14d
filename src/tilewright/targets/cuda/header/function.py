"""What a device function is: its text, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """One device function."""

    text: str
    needs: tuple[str, ...] = ()
    """Functions that it calls."""
    headers: tuple[str, ...] = ()


def asm(signature: str, text: str, operands: str = "", clobbers: str = '"memory"') -> Function:
    """A device function that is one instruction."""
    inputs = f" :: {operands}" if operands else " ::"
    return Function(
        f"""
__device__ __forceinline__ void {signature} {{
  asm volatile("{text}"{inputs} : {clobbers});
}}""",
        needs=("shared_address",) if "shared_address" in operands else (),
    )
