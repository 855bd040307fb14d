"""`tl.extra.cuda.libdevice`: functions of NVIDIA's libdevice, whatever the target is."""

from tilewright.language.tl.extra.cuda.symbols import SYMBOLS
from tilewright.language.tl.extra.tables import functions, read

ROWS = read(SYMBOLS)
globals().update(functions(ROWS))
__all__ = ["ROWS", *ROWS]  # pyright: ignore[reportUnsupportedDunderAll]
