"""Classes of IR are checked by inheritance, without the protocol of abstract base classes."""

from __future__ import annotations

from abc import abstractmethod

import pytest
from xdsl.dialects.builtin import IntegerType, ModuleOp, i32
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import IRDLOperation

from tilewright.dialects import DIALECTS
from tilewright.ir.class_checks import InheritanceMeta

ROOTS = (Attribute, Block, Operation, Region, SSAValue)


def _subclasses(cls: type) -> set[type]:
    return {cls}.union(*map(_subclasses, type.__subclasses__(cls)))


def test_all_classes_of_all_dialects_have_the_metaclass() -> None:
    for load in DIALECTS.values():
        load()
    classes = {each for root in ROOTS for each in _subclasses(root)}
    assert len(classes) > 500
    assert {type(each) for each in classes} == {InheritanceMeta}


def test_checks_agree_with_inheritance() -> None:
    classes = sorted(
        {each for root in ROOTS for each in _subclasses(root)}, key=lambda each: each.__qualname__
    )
    some = classes[::7]
    for one in some:
        for other in some:
            assert issubclass(one, other) == (other in one.__mro__)
    assert isinstance(i32, IntegerType | ModuleOp) and isinstance(i32, ParametrizedAttribute)
    assert not isinstance(ModuleOp([]), Attribute)


def test_ops_and_values_are_compared_by_identity() -> None:
    for load in DIALECTS.values():
        load()
    for root in (Block, Operation, Region, SSAValue):
        own = {each for each in _subclasses(root) if each.__module__.startswith("tilewright.")}
        for cls in {root, *own}:
            assert (cls.__eq__, cls.__hash__) == (object.__eq__, object.__hash__)
    one, other = ModuleOp([]), ModuleOp([])
    assert one == one and one != other and one != 1
    assert len({one, other, one, one.body, other.body}) == 4
    assert i32 == IntegerType(32) and hash(i32) == hash(IntegerType(32))  # attributes are values


def test_abstract_methods_have_to_be_defined() -> None:
    class Incomplete(IRDLOperation):
        @abstractmethod
        def count(self) -> int: ...

    assert type(Incomplete) is InheritanceMeta
    with pytest.raises(TypeError, match="abstract"):
        Incomplete()  # pyright: ignore[reportAbstractUsage]


def test_a_class_cannot_be_registered() -> None:
    with pytest.raises(TypeError, match="'int' has to inherit from 'Operation'"):
        Operation.register(int)
