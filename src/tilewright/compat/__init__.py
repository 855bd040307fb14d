"""Scripts written for Triton or TileLang, run on Tilewright as they are.

    python -m tilewright.compat FILE [arguments]

`install()` does the same for an interpreter that is already running: from then on, ``import
triton`` and ``import tilelang`` give modules built from Tilewright's functions, and torch's device
``cuda`` is the CPU.
"""

from tilewright.compat.finder import install

__all__ = ["install"]
