"""`tl.extra.libdevice`: functions of the library that the target has.

All names of NVIDIA's libdevice and of AMD's libraries are here; one that the target lacks is an
error when a kernel calls it.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.language.tl.extra.cuda.libdevice import ROWS as _CUDA
from tilewright.language.tl.extra.hip.libdevice import ROWS as _HIP
from tilewright.language.tl.extra.tables import Row, function
from tilewright.language.tl.options import current_options

_LIBRARIES = {"cuda": _CUDA, "hip": _HIP}


def _finder(name: str) -> Callable[[], Row]:
    def find() -> Row:
        target = current_options().target
        row = _LIBRARIES[target.backend].get(name)
        if row is None:
            raise ValueError(f"libdevice.{name} is not supported on {target}")
        return row

    return find


_NAMES = sorted({*_CUDA, *_HIP})
globals().update({name: function(name, _finder(name)) for name in _NAMES})
__all__ = _NAMES  # pyright: ignore[reportUnsupportedDunderAll]
