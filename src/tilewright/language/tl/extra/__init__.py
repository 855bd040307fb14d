"""`tl.extra`: what only some machines have, and functions of their libraries.

`libdevice` calls the library of the machine that the kernel is compiled for; `cuda` and `hip` have
those of one, and what else it alone can do.
"""

from tilewright.language.tl.extra import cuda, hip, libdevice

__all__ = ["cuda", "hip", "libdevice"]
