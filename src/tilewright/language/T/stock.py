"""The ops of ``memref``, ``func`` and ``gpu`` that `T` emits, in one module."""

from __future__ import annotations

from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp

__all__ = ["DimOp", "FuncOp", "LoadOp", "ReturnOp", "StoreOp"]
