"""Where a `T` kernel runs.

``auto`` (or nothing) follows the arguments: arrays on a GPU run there, others on this machine's
processor. ``cuda``, ``cuda:sm_80`` or ``cuda -arch=sm_80`` select what is compiled; NumPy arrays
still run on the processor, so that one program can check its own results. ``hip:gfx942`` is the
same for an AMD GPU; ``auto`` does not choose one. ``tenstorrent:wormhole``,
``tenstorrent:blackhole`` and ``tenstorrent:sim`` run on a model of the hardware.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tile import AllocOp, Space
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import CHIPS, DEFAULT_CHIP
from tilewright.runtime.architectures import check_cuda, check_hip, check_tenstorrent
from tilewright.runtime.cuda.context import current_device, device_properties
from tilewright.runtime.cuda.driver import is_available
from tilewright.targets.cuda.settings import DEFAULT_ARCH

NUMPY, CUDA, HIP, TENSTORRENT = "numpy", "cuda", "hip", "tenstorrent"
_DEFAULT_TENSTORRENT = "wormhole"
_ARCH = re.compile(r"sm_\d+[af]?")
_ARCHS = ((CUDA, _ARCH.fullmatch), (HIP, re.compile(r"gfx\w+").fullmatch))
_BLACKWELL = "sm_100a"
_SPECIFIC = 90
"""From this generation on, the instructions of tensor cores need the letter: ``sm_90a``."""


def checked_target(target: object) -> str:
    """``numpy``, ``cuda`` (for the GPU that is there), ``cuda:sm_90a`` or ``hip:gfx942``."""
    if isinstance(target, Mapping):  # {"kind": "cuda", "arch": "sm_90a"}
        given = cast("Mapping[str, Any]", target)
        target = f"{given.get('kind')}:{given.get('arch', '')}"
    text = "auto" if target is None else str(target)
    kind = re.split(r"[: ]", text, maxsplit=1)[0]
    if kind == "auto":
        return CUDA if is_available() else NUMPY
    if kind in (NUMPY, "c", "llvm", "cpu"):
        return NUMPY
    if kind == CUDA:
        arch = _ARCH.search(text)
        if arch is None and not text.partition(":")[2].strip():
            return CUDA
        found = "" if arch is None else arch[0]
        check_cuda(text, found)
        return f"{CUDA}:{complete_arch(found)}"
    if kind == TENSTORRENT:
        return _tenstorrent_target(text)
    if kind == HIP:
        return _hip_target(text)
    hint = next((f": did you mean '{name}:{text}'?" for name, arch in _ARCHS if arch(text)), "")
    raise ValueError(
        f"unknown target {text!r}: expected auto, numpy, cuda, hip or tenstorrent{hint}"
    )


def _hip_target(text: str) -> str:
    """``hip`` (for the GPU that is there) or ``hip:gfx942``, as TileLang writes it too:
    ``hip -mcpu=gfx942``."""
    arch = re.search(r"gfx\w+", text)
    if arch is None and not text.partition(":")[2].strip():
        return HIP
    found = "" if arch is None else arch[0]
    check_hip(text, found)
    return f"{HIP}:{found}"


def _tenstorrent_target(text: str) -> str:
    """``tenstorrent:wormhole``; the default architecture if none is given."""
    arch = text.partition(":")[2].strip() or _DEFAULT_TENSTORRENT
    check_tenstorrent(text, arch)
    return f"{TENSTORRENT}:{arch}"


def is_tenstorrent(target: str) -> bool:
    return target.startswith(TENSTORRENT)


def is_gpu(target: str) -> bool:
    """Whether it is an NVIDIA GPU."""
    return target.startswith(CUDA)


def is_hip(target: str) -> bool:
    """Whether it is an AMD GPU."""
    return target.startswith(HIP)


def chip_of(target: str) -> str:
    """The AMD architecture of a target: its own, that of the machine's GPU, or MI300's."""
    _, _, arch = target.partition(":")
    if arch:
        return arch
    from tilewright.runtime.hip import bindings

    if not bindings.is_available():
        return DEFAULT_CHIP
    found = bindings.hip().properties().chip
    if found not in CHIPS:
        raise ValueError(
            f"the GPU of this machine is {found}, which is not one of {', '.join(CHIPS)}: name "
            "the architecture to compile for, for example hip:gfx942"
        )
    return found


def arch_of(target: str, module: ModuleOp | None = None) -> str:
    """The architecture of a target: its own, that of the machine's GPU, or what `module` needs."""
    _, _, arch = target.partition(":")
    if arch:
        return arch
    if not is_available():
        return DEFAULT_ARCH if module is None else default_arch(module)
    return complete_arch(f"sm_{device_properties(current_device()).capability}")


def default_arch(module: ModuleOp) -> str:
    """Where neither the user nor a GPU of this machine decides.

    Hopper; Blackwell for kernels that keep accumulators in tensor memory.
    """
    uses = any(isinstance(op, AllocOp) and op.space is Space.TMEM for op in walk(module))
    return _BLACKWELL if uses else DEFAULT_ARCH


def complete_arch(arch: str) -> str:
    """``sm_90`` with its letter."""
    is_plain = arch[-1].isdigit()
    return f"{arch}a" if is_plain and int(arch.removeprefix("sm_")) >= _SPECIFIC else arch
