"""`tl.extra.hip.libdevice`: functions of AMD's ocml and ockl libraries, whatever the target is."""

from tilewright.language.tl.extra.hip.symbols import SYMBOLS
from tilewright.language.tl.extra.tables import functions, read

ROWS = read(SYMBOLS)
globals().update(functions(ROWS))
__all__ = ["ROWS", *ROWS]  # pyright: ignore[reportUnsupportedDunderAll]
