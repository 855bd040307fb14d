"""The GPU that scripts find described where there is none (`compat.described_gpu`).

Their kernels run on this machine; the source that they print is that of the described GPU.
"""

from __future__ import annotations

_arch: list[str | None] = [None]


def describe_gpu(arch: str | None) -> None:
    """Kernels for no target in particular show their source for `arch` from here on."""
    _arch[0] = arch


def described_arch(target: object) -> str | None:
    """The architecture that is described to kernels with this target, as the user wrote it."""
    return _arch[0] if target is None or str(target) == "auto" else None
