"""Tensors as Python objects: what they are, and what they refuse."""

from collections.abc import Callable, Iterator

import pytest
from xdsl.dialects.builtin import i32
from xdsl.ir import Block

import tilewright.language.tl as tl
from tilewright.dialects import arith
from tilewright.frontend.builder import Builder, using
from tilewright.frontend.values import handles, kind, rebuild
from tilewright.language.tl.tensor import emit


@pytest.fixture
def block() -> Iterator[Block]:
    block = Block(arg_types=[i32, i32])
    with using(Builder(block)):
        yield block


def test_what_a_tensor_is(block: Block) -> None:
    x = tl.arange(0, 16)
    assert (x.shape, x.numel, x.dtype, x.type) == (
        (16,),
        16,
        tl.int32,
        tl.block_type(tl.int32, [16]),
    )
    n = tl.tensor(block.args[0], tl.uint32)
    assert (n.shape, n.numel, n.dtype, n.type) == ((), 1, tl.uint32, tl.uint32)
    assert (str(x), str(n)) == ("int32[16]", "uint32[]")
    assert repr(x) == "tensor(int32[16])"


def test_control_flow_takes_it_apart_and_puts_it_together(block: Block) -> None:
    n = tl.tensor(block.args[0], tl.uint32)
    assert handles((n, 3, n)) == [block.args[0], block.args[0]]
    assert kind(n) == tl.uint32
    assert kind(n) != kind(tl.tensor(block.args[0], tl.int32))
    other = rebuild(n, iter([block.args[1]]))
    assert (other.handle, other.type) == (block.args[1], tl.uint32)


def test_emit(block: Block) -> None:
    n = tl.tensor(block.args[0], tl.uint32)
    result = emit(arith.AddiOp(n.handle, n.handle), tl.uint32)
    assert isinstance(block.last_op, arith.AddiOp)
    assert result.handle is block.last_op.results[0]


def test_tensors_are_told_apart_by_identity(block: Block) -> None:
    x, y = (tl.tensor(block.args[0], tl.int32) for _ in range(2))
    assert {x: 1}[x] == 1
    assert hash(x) != hash(y)
    assert isinstance(x == y, tl.tensor)
    assert isinstance(x != y, tl.tensor)


REFUSED: dict[str, tuple[Callable[[tl.tensor], object], str]] = {
    "bool": (bool, r"the truth value of int32\[16\] is unknown at compile time: .* tl.where"),
    "list": (list, r"the elements of int32\[16\] cannot be iterated over"),
    "in": (lambda x: 3 in x, "cannot be iterated over"),
    "index": (lambda x: [1, 2][x], "a compile-time integer is required here"),
    "len": (len, "has no len"),
    "text operand": (lambda x: x + "a", "unsupported operand 'a' of type str"),
    "none operand": (lambda x: None * x, "unsupported operand None"),
    "tuple operand": (lambda x: x < (1, 2), r"unsupported operand \(1, 2\) of type tuple"),
    "type to cast to": (
        lambda x: x.to(32),
        "expected a type such as tl.float32 to cast to, got 32",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_tensor_refuses(name: str, block: Block) -> None:
    action, message = REFUSED[name]
    with pytest.raises(TypeError, match=message):
        action(tl.arange(0, 16))


def test_a_pointer_and_a_number_are_no_choice(block: Block) -> None:
    """Triton's verifier finds this, its front end does not."""
    pointer = tl.full((), 0, tl.int64).to(tl.pi32_t)
    with pytest.raises(TypeError, match=r"invalid operands of type pointer<int32> and tl.int32"):
        tl.where(True, pointer, 3)
    with pytest.raises(TypeError, match=r"an address has 64 bits; convert by way of tl.int64"):
        tl.arange(0, 16).to(tl.pi32_t)
    with pytest.raises(TypeError, match="fma takes floats, got int32"):
        tl.fma(tl.arange(0, 16), 2, 3)
    with pytest.raises(TypeError, match="join takes tensors of one type"):
        tl.join(tl.arange(0, 16), tl.arange(0, 16).to(tl.float32))


def test_a_shift_past_the_width_is_warned_about(block: Block) -> None:
    with pytest.warns(
        UserWarning, match=r"Value 32 exceeds the maximum bitwidth \(32\) for type 'int32'"
    ):
        _ = tl.arange(0, 16) << 32


def test_a_bfloat16_that_loses_decimals_is_warned_about(block: Block) -> None:
    with pytest.warns(
        UserWarning, match="1e-07 as a bfloat16 constant is 0.0: rounded to six decimals"
    ):
        tl.full((), 1e-7, tl.bfloat16)


def test_outside_of_a_kernel() -> None:
    with pytest.raises(RuntimeError, match="call it inside a function decorated with @jit"):
        tl.arange(0, 16)
