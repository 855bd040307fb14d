"""Locations that MLIR simplifies while it reads them."""

import pytest
from xdsl.dialects.builtin import ArrayAttr, FusedLoc, NameLoc, NoneAttr, StringAttr, UnknownLoc

from tests.dialects.text_support import check_same_as_triton, returning
from tilewright.ir.text.locations import fuse, name_location

A, B, C = (NameLoc(StringAttr(name), NoneAttr()) for name in "abc")
M = StringAttr("m")


def fused(*locations, metadata=None):
    return FusedLoc(ArrayAttr(list(locations)), NoneAttr() if metadata is None else metadata)


@pytest.mark.parametrize(
    ("locations", "metadata", "expected"),
    [
        ([], None, UnknownLoc()),
        ([UnknownLoc()], None, UnknownLoc()),
        ([A], None, A),
        ([A, UnknownLoc(), A], None, A),
        ([A, B], None, fused(A, B)),
        ([A, fused(B, C), B], None, fused(A, B, C)),
        ([A], M, fused(A, metadata=M)),
        ([], M, fused(UnknownLoc(), metadata=M)),
        ([A, fused(B, C)], M, fused(A, fused(B, C), metadata=M)),
        ([A, fused(B, C, metadata=M)], M, fused(A, B, C, metadata=M)),
        ([A, fused(B, C, metadata=M)], None, fused(A, fused(B, C, metadata=M))),
    ],
)
def test_fuse(locations, metadata, expected):
    assert fuse(locations, metadata) == expected


def test_name_of_an_unknown_place():
    assert name_location("a", UnknownLoc()) == A
    assert name_location("a", B) == NameLoc(StringAttr("a"), B)


@pytest.mark.parametrize(
    "location",
    [
        '"n"(unknown)',
        'fused[unknown, "x"]',
        'fused["x", "x"]',
        "fused[unknown]",
        'fused<"m">[unknown]',
        'fused<"m">["a", unknown, "a", fused["b", "c"], fused<"m">["d", "e"]]',
        'fused["a", fused["b", "c"], fused<"m">["d", "e"], "b"]',
        'callsite(unknown at "x")',
        'callsite("n"("f":1:2) at unknown)',
        "fused<unit>[]",
        '"é"',
        '"0"',
        '"a\\01\\FFg"',
        '"f.py":1:2 to 3:4',
        '"f.py":1:2 to :4',
    ],
)
def test_triton_reads_the_same(location: str):
    line = f'%0 = arith.constant 1 : i32 loc({location})\n%1 = arith.constant 1 : i32 loc("n")'
    check_same_as_triton(returning(line))
