"""The ``nv`` dialect: text, messages, and that nothing of it is moved or merged."""

import re
from pathlib import Path

import pytest

from tests.dialects.tile.support import ARGUMENTS, module_text, objections, op_named, parse, printed
from tilewright.dialects.nv import (
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierExpectTxOp,
    MBarrierWaitOp,
    Nv,
    TmaStoreWaitOp,
    WgmmaWaitOp,
)
from tilewright.dialects.simt import Simt
from tilewright.dialects.tile.interfaces import is_async, reads, writes
from tilewright.ir.effects import is_removable
from tilewright.ir.text import print_module

B = ARGUMENTS["bars"]

SAME_TEXT = [
    f"nv.mbarrier.init %bars[%i], 128 : {B}",
    f"nv.mbarrier.arrive %bars[%i] : {B}",
    f"nv.mbarrier.arrive %bars[%i] cta %w : {B}",
    f"nv.mbarrier.expect_tx %bars[%i], 16384 : {B}",
    f"nv.mbarrier.arrive_expect_tx %bars[%i], %n : {B}",
    f"nv.mbarrier.wait %bars[%i], %j : {B}, index",
    f"nv.mbarrier.wait %bars[%i], %w : {B}, i32",
    "nv.cp_async.commit",
    "nv.cp_async.wait 2",
    f"nv.cp_async.mbarrier_arrive %bars[%i] {{noinc}} : {B}",
    "nv.cp_async %ptr, %ptr, 16 : !tile.ptr<f16>, !tile.ptr<f16>",
    "nv.cp_async %ptr, %ptr, 4 if %p : !tile.ptr<f16>, !tile.ptr<f16>",
    "nv.tma_store.commit",
    "nv.tma_store.wait 0 {read}",
    "nv.wgmma.commit",
    "nv.wgmma.wait 1",
    "nv.fence_proxy_async",
    "nv.fence_barrier_init",
    "nv.setmaxnreg inc 240",
    "nv.setmaxnreg dec 24",
    "nv.bar sync 1, 128",
    "nv.bar arrive 2, 256",
    "%0 = nv.elect",
    "%0 = nv.cluster.rank",
    "nv.cluster.arrive",
    "nv.cluster.wait",
    "nv.grid.trigger",
    "nv.grid.wait",
    "%0 = nv.dp4a %w, %w, %w",
]


@pytest.mark.parametrize("body", SAME_TEXT)
def test_text_comes_back(body: str):
    assert printed(body) == body
    module = parse(module_text(body))
    assert print_module(parse(print_module(module, generic=True))) == print_module(module)


def name_of(body: str) -> str:
    return body.removeprefix("%0 = ").split(" ")[0]


LIT = Path(__file__).parents[1] / "lit/dialects/nv"
THREAD_LEVEL = (LIT / "thread-level.mlir", LIT / "tensor-memory.mlir")


def test_every_op_has_a_sample():
    """Here, or, for what only kernels of single threads hold, in a text test."""
    lines = [line.strip() for file in THREAD_LEVEL for line in file.read_text().splitlines()]
    others = {
        match[1]
        for line in lines
        if (match := re.match(r"(?:%[\w, %]+ = )?((?:nv|simt)\.[\w.]+)", line))
    }
    sampled = {name_of(body) for body in SAME_TEXT}
    assert sampled.isdisjoint(others - {"nv.wgmma.commit"})
    assert sampled | others == {op.name for op in (*Nv.operations, *Simt.operations)}


PURE = ("nv.elect", "nv.cluster.rank", "nv.dp4a")


@pytest.mark.parametrize("body", SAME_TEXT)
def test_only_questions_can_be_dropped(body: str):
    assert is_removable(op_named(body, name_of(body))) == (name_of(body) in PURE)


REFUSED = {
    f"nv.mbarrier.arrive %As[%i] : {ARGUMENTS['As']}": "expects a one-dimensional buffer of barriers, but got 'memref<64x32xf16, #tile.space<shared>>'",
    f"%c = arith.constant 2 : index\nnv.mbarrier.arrive %bars[%c] : {B}": "barrier index 2 is out of bounds: the buffer has 2 barriers",
    f"%c = arith.constant 2 : i32\nnv.mbarrier.wait %bars[%i], %c : {B}, i32": "parity must be 0 or 1, got 2",
    f"nv.mbarrier.init %bars[%i], 0 : {B}": "arrive count must be at least 1, got 0",
    f"nv.mbarrier.expect_tx %bars[%i], 1048576 : {B}": "transaction count must be 0 to 1048575 bytes, got 1048576",
    f"nv.mbarrier.expect_tx %bars[%i], -4 : {B}": "transaction count must be 0 to 1048575 bytes, got -4",
    "nv.cp_async.wait -1": "number of groups left in flight must not be negative, got -1",
    "nv.cp_async %ptr, %ptr, 12 : !tile.ptr<f16>, !tile.ptr<f16>": "copies 4, 8 or 16 bytes, got 12",
    "nv.setmaxnreg dec 20": "register count must be a multiple of 8 from 24 to 240, got 20",
    "nv.setmaxnreg inc 100": "register count must be a multiple of 8 from 24 to 240, got 100",
    "nv.bar sync 16, 128": "named barrier id must be 0 to 15, got 16",
    "nv.bar sync 1, 100": "thread count of a named barrier must be a multiple of 32, got 100",
    f"nv.mbarrier.wait %bars[%i], %x : {B}, f32": "operand #2 must be signless integer or index, but got 'f32'",
}


@pytest.mark.parametrize(("body", "message"), REFUSED.items(), ids=range(len(REFUSED)))
def test_message(body: str, message: str):
    (found,) = objections(body)
    assert message in found


@pytest.mark.parametrize("value", [0, 1, -1])
def test_parities(value: int):
    type = "i1" if value == -1 else "i32"
    body = f"%c = arith.constant {value} : {type}\nnv.mbarrier.wait %bars[%i], %c : {B}, {type}"
    assert objections(body) == []


def test_bytes_that_are_known():
    op = op_named(f"nv.mbarrier.expect_tx %bars[%i], 7 : {B}", "nv.mbarrier.expect_tx")
    assert isinstance(op, MBarrierExpectTxOp)
    assert op.bytes == 7
    built = MBarrierArriveExpectTxOp(op.barrier, op.index, 4096)
    assert built.bytes == 4096
    assert built.name == "nv.mbarrier.arrive_expect_tx"


def test_raw_copies_are_asynchronous():
    text = (
        "%0 = tile.ptr_of w %rows[%i] extent %n : memref<64xf32, #fragment>\n"
        "%1 = tile.ptr_of r %rows[%j] extent %n : memref<64xf32, #fragment>\n"
        "nv.cp_async %0, %1, 16 : !tile.ptr<f32, #fragment>, !tile.ptr<f32, #fragment>"
    )
    op = op_named(text, "nv.cp_async")
    assert is_async(op)
    assert [str(region) for region in reads(op)] == ["%rows[%j +%n]"]
    assert [str(region) for region in writes(op)] == ["%rows[%i +%n]"]
    assert {region.unit for region in reads(op)} == {"thread"}


def test_waits():
    assert WgmmaWaitOp(3).count == 3
    assert TmaStoreWaitOp(1, read=True).read is not None
    assert TmaStoreWaitOp(1).read is None


BUILT = {
    "nv.mbarrier.wait": lambda bar, i, j: MBarrierWaitOp(bar, i, j),
    "nv.mbarrier.expect_tx": lambda bar, i, j: MBarrierExpectTxOp(bar, i, j),
    "nv.mbarrier.arrive_expect_tx": lambda bar, i, j: MBarrierArriveExpectTxOp(bar, i, j),
}


@pytest.mark.parametrize("name", BUILT)
def test_operands_stand_in_the_order_of_the_text(name: str):
    types = f"{B}, index" if name.endswith("wait") else B
    read = op_named(f"{name} %bars[%i], %j : {types}", name)
    built = BUILT[name](*read.operands)
    assert [value.name_hint for value in read.operands] == ["bars", "i", "j"]
    assert list(built.operands) == list(read.operands)
    assert built.index is read.operands[1]


def test_arrivals_elsewhere():
    read = op_named(f"nv.mbarrier.arrive %bars[%i] cta %w : {B}", "nv.mbarrier.arrive")
    built = MBarrierArriveOp(*read.operands)
    assert built.cta is read.operands[2]
    assert MBarrierArriveOp(*read.operands[:2]).cta is None
