"""`tl.extra.hip`: what only AMD GPUs have."""

from tilewright.language.tl.extra.hip import libdevice
from tilewright.language.tl.extra.hip.device import memrealtime, num_threads, num_warps, smid

__all__ = ["libdevice", "memrealtime", "num_threads", "num_warps", "smid"]
