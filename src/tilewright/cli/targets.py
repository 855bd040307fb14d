"""``--target``: which hardware, and by which compiler."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilewright.cli.command_line import CommandLine, UsageError
from tilewright.cli.commands import DEFAULT_TARGET
from tilewright.runtime.choice import spec_named
from tilewright.runtime.tile.targets import checked_target, chip_of

CUDA, HIP, TENSTORRENT, TRITON = "cuda", "hip", "tenstorrent", "triton"
GPUS = (CUDA, HIP)
TILES = (*GPUS, TENSTORRENT)
"""What kernels on tiles are compiled for."""
EXAMPLES = {
    CUDA: "cuda:sm_90a",
    HIP: "hip:gfx942",
    TENSTORRENT: "tenstorrent:wormhole",
    TRITON: "triton:sm_90",
}
TRITON_OF_TEXT = "triton:text"
"""The target that IR text states, or that of Hopper."""
_SM = re.compile(r"sm_(\d+)([af]?)")
_GFX = re.compile(r"gfx\w+")
_ARCHITECTURE_SPECIFIC = 90
"""The lowest architecture whose MMA and TMA instructions need the suffix a."""


def kind_of(target: str) -> str:
    """``cuda`` of ``cuda:sm_90a``."""
    return target.partition(":")[0]


def tile_target(line: CommandLine, kinds: Sequence[str], *, what: str) -> str:
    """The target of a command line, which is one of `kinds`; the default without one.

    Raises:
        UsageError: if there is no such target, or not for `what`.
    """
    target = line.values.get("target", DEFAULT_TARGET)
    if kind_of(target) not in kinds:
        examples = [EXAMPLES[kind] for kind in kinds]
        shown = " or ".join(filter(None, (", ".join(examples[:-1]), examples[-1])))
        raise UsageError(f"--target: '{target}' {what}; pass one like {shown}{_hint(target)}")
    return checked_name(target)


def checked_name(target: str) -> str:
    """A target as kernels have it; raises `UsageError` if there is none of that name."""
    try:
        found = checked_target(target)
        if found == HIP:
            found = f"{HIP}:{chip_of(found)}"
        spec_named(found if target == HIP else target)
    except ValueError as error:
        raise UsageError(f"--target: {error}") from None
    return found


def _hint(target: str) -> str:
    """The targets of an architecture that was given without one."""
    found = _SM.fullmatch(target)
    if found is not None:
        return f": did you mean 'cuda:{specific(found)}'?"
    return f": did you mean 'hip:{target}'?" if _GFX.fullmatch(target) else ""


def specific(found: re.Match[str]) -> str:
    """An NVIDIA architecture with the suffix that its MMA and TMA instructions need."""
    version, suffix = found.groups()
    return f"sm_{version}{suffix or ('a' if int(version) >= _ARCHITECTURE_SPECIFIC else '')}"


def no_backend(target: str, examples: str) -> str | None:
    """What is wrong with a target that names hardware only; None if that is not what is wrong."""
    found = _SM.fullmatch(target)
    if _GFX.fullmatch(target):
        return (
            f"--target: '{target}' names no backend: pass triton:{target} for tl and tlx kernels, "
            f"hip:{target} for T kernels"
        )
    if found is not None:
        return (
            f"--target: '{target}' names no backend: pass triton:sm_{found[1]} for tl and tlx "
            f"kernels, cuda:{specific(found)} for T kernels"
        )
    try:
        spec_named(target)
    except ValueError as error:
        kind, _, arch = target.partition(":")
        if kind in TILES and arch:
            return f"--target: {error}"
        return (
            f"--target: '{target}' is not a target: pass a backend and an architecture, for "
            f"example {examples}"
        )
    return None
