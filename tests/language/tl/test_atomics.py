"""Atomic accesses: the same ops as Triton's for every kind, type, order and scope."""

import pytest

from tests.language.tl.against_triton import check, our_module
from tilewright.ir.diagnostics import CompileError

NUMBERS = ("i32", "u32", "i64", "u64", "fp32", "fp64")
BITS = ("i32", "u32", "i64", "u64")


def _check(call: str, element: str, **options: object) -> str:
    return check(
        f"""
        @jit
        def kernel(x, n, N: tl.constexpr):
            offsets = tl.arange(0, N)
            value = offsets * 2
            tl.device_print("before", {call})
        """,
        dict(x=f"*{element}", n="i32"),
        dict(N=32),
        **options,
    )


@pytest.mark.parametrize("element", [*NUMBERS, "fp16", "bf16"])
def test_add(element: str) -> None:
    _check("tl.atomic_add(x + offsets, value, mask=offsets < n)", element)


@pytest.mark.parametrize("element", NUMBERS)
@pytest.mark.parametrize("kind", ["max", "min", "xchg"])
def test_of_numbers(kind: str, element: str) -> None:
    _check(f"tl.atomic_{kind}(x + offsets, value, mask=offsets < n)", element)


@pytest.mark.parametrize("element", BITS)
@pytest.mark.parametrize("kind", ["and", "or", "xor"])
def test_of_bits(kind: str, element: str) -> None:
    _check(f"tl.atomic_{kind}(x + offsets, value)", element)


@pytest.mark.parametrize("element", NUMBERS)
@pytest.mark.parametrize("kind", ["add", "max", "min", "xchg"])
def test_of_a_scalar(kind: str, element: str) -> None:
    _check(f"tl.atomic_{kind}(x, 3)", element)


@pytest.mark.parametrize(
    "call",
    [
        "tl.atomic_add(x + offsets, 1)",
        "tl.atomic_add(x + offsets, n, n > 0)",
        "tl.atomic_max(x + offsets, 1.5, n > 0)",
        "tl.atomic_min(x + offsets[:, None] + offsets[None, :], value[None, :], value[:, None] > n)",
        "(x + offsets).atomic_add(value)",
        "(x + offsets).atomic_xchg(1, sem='relaxed')",
    ],
)
def test_values_and_masks_broadcast(call: str) -> None:
    _check(call, "fp32")


@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel"])
@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
def test_order(sem: str, scope: str) -> None:
    _check(f"tl.atomic_add(x + offsets, 1.0, sem='{sem}', scope='{scope}')", "fp32")
    _check(f"tl.atomic_cas(x, 0, 1, '{sem}', '{scope}')", "i32")


@pytest.mark.parametrize(
    ("call", "element"),
    [
        ("tl.atomic_cas(x, 0, 1)", "i32"),
        ("tl.atomic_cas(x, 0.0, 1.0)", "fp32"),
        ("tl.atomic_cas(x + offsets, value, value + 1)", "i32"),
        ("tl.atomic_cas(x, (n > 0).to(tl.int64), n.to(tl.int64))", "i64"),
        ("(x + offsets).atomic_cas(value.to(tl.int16), value.to(tl.int16))", "i16"),
    ],
)
def test_compare_and_swap(call: str, element: str) -> None:
    _check(call, element)


@pytest.mark.parametrize("element", ["i1", "i8", "i32", "u64", "fp16", "fp32"])
@pytest.mark.parametrize(
    "call", ["(x)", "(x + offsets)", "(x + offsets, offsets < n, 'relaxed', 'sys')"]
)
def test_load(call: str, element: str) -> None:
    _check(f"tl.atomic_load{call}", element)


@pytest.mark.parametrize("element", ["i1", "i8", "i32", "u64", "fp16", "fp32"])
@pytest.mark.parametrize(
    "call", ["(x, 1)", "(x + offsets, value)", "(x + offsets, 1, offsets < n, 'relaxed', 'cta')"]
)
def test_store(call: str, element: str) -> None:
    check(
        f"""
        @jit
        def kernel(x, n, N: tl.constexpr):
            offsets = tl.arange(0, N)
            value = offsets * 2
            tl.atomic_store{call}
        """,
        dict(x=f"*{element}", n="i32"),
        dict(N=32),
    )


@pytest.mark.parametrize(
    "call",
    [
        "tl.atomic_poll(x, 1)",
        "tl.atomic_poll(x + offsets, value)",
        "tl.atomic_poll(x + offsets, 1, sem='relaxed', scope='sys', timeout_ns=1000)",
        "tl.atomic_poll(x, n, timeout_ns=n)",
    ],
)
@pytest.mark.parametrize("element", ["i16", "i32", "u64"])
def test_poll(call: str, element: str) -> None:
    _check(call, element)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tl.atomic_add(o, 1)", "Unsupported ptr type <['16'], int32> in `tl.atomic_add`"),
        ("tl.atomic_max(h + o, 1)", "atomic_max does not support fp16: elements must have 32 or 64 bits"),
        ("tl.atomic_add(b + o, 1)", "atomic_add does not support int8: elements must have 32 or 64 bits, or be fp16 or bf16"),
        ("tl.atomic_and(x + o, 1)", "atomic_and not supported for dtype fp32"),
        ("tl.atomic_add(x + o, 1, sem='seq_cst')", "Memory semantic seq_cst not supported; expected one of relaxed"),
        ("tl.atomic_add(x + o, 1, scope='world')", "Memory scope world not supported; expected one of gpu, cta, sys"),
        ("tl.atomic_add(x + o, 1, mask=o)", "Mask must have boolean scalar type, got int32"),
        ("tl.atomic_add(x, o)", "Value argument cannot be block type"),
        ("tl.atomic_cas(x + o, 0, 1)", "atomic_cas needs `cmp` to have type <['16'], fp32>, as the pointer's elements, got int32: write tl.full([16], value, tl.float32)"),
        ("tl.atomic_cas(x, 0, 1)", "write value.to(tl.float32)"),
        ("tl.atomic_cas(b, 0, 1)", "atomic_cas only supports elements with width {16, 32, 64}, got int8"),
        ("tl.atomic_load(x, sem='release')", "atomic_load only supports acquire and relaxed semantics, got release"),
        ("tl.atomic_store(x, 1, sem='acquire')", "atomic_store only supports release and relaxed semantics, got acquire"),
        ("tl.atomic_poll(x, 1)", "atomic_poll only supports integer elements with width {16, 32, 64}, got fp32"),
    ],
)  # fmt: skip
def test_wrong_accesses_say_what_is_wrong(line: str, message: str) -> None:
    source = f"""
    @jit
    def kernel(x, h, b, N: tl.constexpr):
        o = tl.arange(0, N)
        {line}
    """
    with pytest.raises(CompileError) as caught:
        our_module(source, dict(x="*fp32", h="*fp16", b="*i8"), dict(N=16))
    assert message in str(caught.value)
