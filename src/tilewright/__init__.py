"""Tilewright: a tile-kernel compiler in Python.

Importing this package is free of weight: it loads neither xDSL nor any device library. Import the
room you need (``tilewright.ir``, ``tilewright.dialects`` ...) and pay for that one only.
"""

__version__ = "0.1.0.dev0"

__all__ = ["__version__"]
