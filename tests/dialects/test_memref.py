"""Elements and extents of buffers."""

import pytest

from tests.dialects.tile.support import ARGUMENTS, module_text, objections, parse, printed
from tilewright.dialects import DIALECTS
from tilewright.ir.text import print_module

A = ARGUMENTS["A"]

SAME_TEXT = [
    f"%0 = memref.load %A[%i, %j] : {A}",
    f"%0 = memref.load %A[%i, %j] {{nontemporal = true}} : {A}",
    "%0 = memref.load %m[] : memref<f32>",
    f"memref.store %h, %A[%i, %j] : {A}",
    f"%0 = memref.dim %B, %i : {ARGUMENTS['B']}",
    f"%0 = memref.cast %A : {A} to memref<?x128xf16, #global>",
    "%0 = memref.alloca() : memref<8xf32>",
    "%0 = memref.alloc(%n) {alignment = 16 : i64} : memref<?x4xf32>",
]


@pytest.mark.parametrize("body", SAME_TEXT)
def test_text_comes_back(body: str):
    text = module_text(body).replace("@f(", "@f(%m: memref<f32>, ", 1) if "%m" in body else None
    module = parse((text or module_text(body)).replace(", )", ")"))
    again = print_module(module)
    assert body.removeprefix("%0 = ") in again
    assert print_module(parse(print_module(module, generic=True))) == again


REFUSED = {
    f"%0 = memref.load %A[%i] : {A}": "expects one index per dimension of the buffer: it has 2, got 1",
    f"memref.store %h, %A[%i, %j, %n] : {A}": "expects one index per dimension of the buffer: it has 2, got 3",
    f'%0 = "memref.load"(%A, %i, %j) : ({A}, index, index) -> f32': "failed to verify that result type matches element type of 'memref'",
    f'"memref.store"(%x, %A, %i, %j) : (f32, {A}, index, index) -> ()': "failed to verify that type of 'value' matches element type of 'memref'",
    f"%0 = memref.cast %A : {A} to memref<?x64xf16, #global>": "operand type 'memref<256x128xf16, #tile.space<global>>' and result type 'memref<?x64xf16, #tile.space<global>>' are cast incompatible",
    f"%0 = memref.cast %A : {A} to memref<256x128xf16, #shared>": "are cast incompatible",
    f"%0 = memref.cast %A : {A} to memref<256x128xf32, #global>": "are cast incompatible",
    '%0 = "memref.load"(%x, %i) : (f32, index) -> f32': "operand #0 must be memref of any type values, but got 'f32'",
}


@pytest.mark.parametrize(("body", "message"), REFUSED.items(), ids=range(len(REFUSED)))
def test_message(body: str, message: str):
    (found,) = objections(body)
    assert message in found


def test_other_ops_are_stock():
    names = [op.name for op in DIALECTS["memref"]().operations]
    assert len(names) == len(set(names))
    assert {"memref.load", "memref.subview", "memref.view"} <= set(names)
    assert printed(f"%0 = memref.load %A[%i, %j] : {A}").startswith("%0 = memref.load")
