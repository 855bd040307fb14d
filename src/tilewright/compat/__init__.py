"""Scripts written for Triton, run on Tilewright as they are.

    python -m tilewright.compat FILE [arguments]

`install()` does the same for an interpreter that is already running: from then on, ``import
triton`` gives modules made of Tilewright's functions, and torch's device ``cuda`` is the CPU.
"""

from tilewright.compat.finder import install

__all__ = ["install"]
