"""Ops, values and attributes as plain classes: ``isinstance``, ``==`` and ``hash`` without Python.

xDSL's ops, attributes and values derive from ``abc.ABC``. For such a class ``isinstance`` calls
Python, which has a cache for pairs of classes; the first check of a pair goes through all
subclasses, since the other class might be registered with one of them. There are hundreds of
subclasses, and tens of thousands of checks to a compile: a tenth of its time.

No class of IR is registered with another one, inheritance decides. So the classes get a metaclass
with the plain checks of ``type``. It derives from ``ABCMeta``: abstract methods still have to be
defined, and classes that are defined later get it from their bases.

Ops, blocks, regions and values are equal if they are the same object. xDSL writes that as methods
in Python; those of ``object`` do the same, and a dictionary calls them ten times as fast.
"""

from __future__ import annotations

from abc import ABC, ABCMeta
from typing import NoReturn

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation


class InheritanceMeta(ABCMeta):
    """Makes abstract classes whose subclasses are those that inherit from them."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    def register(cls, subclass: type) -> NoReturn:
        """Refused: no check would find the class."""
        raise TypeError(f"'{subclass.__name__}' has to inherit from '{cls.__name__}'")


def check_by_inheritance() -> None:
    """Give the metaclass to all classes of ops, attributes, values, blocks and regions."""
    for root in (Attribute, Block, Operation, Region, SSAValue):
        for cls in root.__mro__:
            if _is_abstract(cls):
                _convert(cls)


def compare_by_identity() -> None:
    """Give ops, blocks, regions and values the comparison and the hash of ``object``."""
    for root in (Block, IRDLOperation, Operation, Region, SSAValue):
        for cls in root.__mro__:
            if cls.__module__.startswith("xdsl.") and "__hash__" in vars(cls):
                for name in ("__eq__", "__hash__"):
                    setattr(cls, name, getattr(object, name))


def _convert(cls: type) -> None:
    if _is_abstract(cls):
        cls.__class__ = InheritanceMeta
    for subclass in type.__subclasses__(cls):
        _convert(subclass)


def _is_abstract(cls: type) -> bool:
    return type(cls) is ABCMeta and cls is not ABC
