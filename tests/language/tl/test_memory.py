"""Loads and stores: the same ops as Triton's, and what is wrong is said."""

import pytest

from tests.language.tl.against_triton import check, our_module
from tilewright.ir.diagnostics import CompileError

ELEMENTS = (
    "i1",
    "i8",
    "u8",
    "i16",
    "i32",
    "u32",
    "i64",
    "fp16",
    "bf16",
    "fp32",
    "fp64",
    "fp8e5",
    "fp8e4nv",
)


@pytest.mark.parametrize("element", ELEMENTS)
def test_block_of_every_element_type(element: str) -> None:
    check(
        """
        @jit
        def kernel(x, y, n, N: tl.constexpr):
            offsets = tl.arange(0, N)
            mask = offsets < n
            tl.store(y + offsets, tl.load(x + offsets, mask=mask), mask=mask)
        """,
        dict(x=f"*{element}", y=f"*{element}", n="i32"),
        dict(N=64),
    )


@pytest.mark.parametrize("element", ELEMENTS)
def test_scalar_of_every_element_type(element: str) -> None:
    check(
        """
        @jit
        def kernel(x, y, n):
            tl.store(y, tl.load(x))
            tl.store(y + n, tl.load(x + n, mask=n > 0), mask=n > 1)
        """,
        dict(x=f"*{element}", y=f"*{element}", n="i32"),
    )


@pytest.mark.parametrize("element", ["i1", "i8", "i32", "u32", "fp16", "bf16", "fp32"])
@pytest.mark.parametrize("other", ["0", "0.0", "1", "tl.full((N,), 2, tl.int32)"])
def test_other_is_converted(element: str, other: str) -> None:
    check(
        f"""
        @jit
        def kernel(x, y, n, N: tl.constexpr):
            offsets = tl.arange(0, N)
            tl.store(y + offsets, tl.load(x + offsets, mask=offsets < n, other={other}))
        """,
        dict(x=f"*{element}", y=f"*{element}", n="i32"),
        dict(N=16),
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "x + rows[:, None] * n + columns[None, :]",
        "x + rows[:, None] * n + columns[None, :], mask=(columns < n)[None, :]",
        "x + rows[:, None] * n + columns[None, :], mask=rows[:, None] < n, other=0.0",
        "x + rows[:, None] * n + columns[None, :], True, 1.5",
        "x + columns[None, :], mask=rows[:, None] < n, other=columns[None, :].to(tl.float32)",
        "x + columns, mask=n > 3, other=n",
    ],
)
def test_loads_broadcast(arguments: str) -> None:
    check(
        f"""
        @jit
        def kernel(x, n, M: tl.constexpr, N: tl.constexpr):
            rows = tl.arange(0, M)
            columns = tl.arange(0, N)
            tl.device_print("loaded", tl.load({arguments}))
        """,
        dict(x="*fp32", n="i32"),
        dict(M=8, N=16),
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "x + rows[:, None] * n + columns[None, :], 0",
        "x + rows[:, None] * n + columns[None, :], columns[None, :]",
        "x + rows[:, None] * n + columns[None, :], rows[:, None] * 1.0, mask=columns[None, :] < n",
        "x + rows[:, None] * n + columns[None, :], n, mask=n > 0",
        "x + columns, 3, columns < n",
        "x + columns, True",
        "x, n",
        "x, 1.5, n > 0",
    ],
)
def test_stores_broadcast(arguments: str) -> None:
    check(
        f"""
        @jit
        def kernel(x, n, M: tl.constexpr, N: tl.constexpr):
            rows = tl.arange(0, M)
            columns = tl.arange(0, N)
            tl.store({arguments})
        """,
        dict(x="*fp16", n="i32"),
        dict(M=8, N=16),
    )


@pytest.mark.parametrize("modifier", ["", ".ca", ".cg", ".cs", ".cv", "cg"])
@pytest.mark.parametrize("eviction", ["", "evict_normal", "evict_first", "evict_last"])
@pytest.mark.parametrize("volatile", [True, False])
def test_cache_policy_of_a_load(modifier: str, eviction: str, volatile: bool) -> None:
    check(
        f"""
        @jit
        def kernel(x):
            tl.device_print("loaded", tl.load(
                x, cache_modifier="{modifier}", eviction_policy="{eviction}", volatile={volatile}))
        """,
        dict(x="*fp32"),
    )


@pytest.mark.parametrize("modifier", ["", ".wb", ".cg", ".cs", ".wt"])
@pytest.mark.parametrize("eviction", ["", "evict_first", "evict_last"])
def test_cache_policy_of_a_store(modifier: str, eviction: str) -> None:
    check(
        f"""
        @jit
        def kernel(x):
            tl.store(x, 1, cache_modifier="{modifier}", eviction_policy="{eviction}")
        """,
        dict(x="*fp32"),
    )


def test_methods_and_pointers_to_unsigned_offsets() -> None:
    check(
        """
        @jit
        def kernel(x, n, N: tl.constexpr):
            pointers = x + tl.arange(0, N).to(tl.uint32)
            pointers.store(tl.load(pointers) + 1, mask=tl.arange(0, N) < n)
        """,
        dict(x="*fp32", n="u32"),
        dict(N=32),
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tl.load(x + o, other=0)", "`other` cannot be provided without `mask`"),
        ("tl.load(o)", "Unsupported ptr type <['16'], int32> in `tl.load`"),
        ("tl.load(tl.make_tensor_descriptor(x, [n], [1], [16]))", "tensor_descriptor in `tl.load`: use the descriptor's method, desc.load([row, column], ...)"),
        ("tl.load(3)", "Unsupported ptr type int in `tl.load`"),
        ("tl.store(n, 1)", "Unsupported ptr type tl.int32 in `tl.store`"),
        ("tl.load(x, mask=o < n)", "Mask argument cannot be block type"),
        ("tl.load(x, mask=n > 0, other=o)", "Other argument cannot be block type"),
        ("tl.store(x, o)", "Value argument cannot be block type"),
        ("tl.store(x, 1, mask=o < n)", "Mask argument cannot be block type"),
        ("tl.load(x + o, mask=o)", "Mask must have boolean scalar type, got int32"),
        ("tl.store(x + o, 1, mask=o)", "Mask must have boolean scalar type, got int32"),
        ("tl.store(x + o, tl.zeros((4, 16), tl.float32))", "pointer argument to have shape [4, 16] but got [16]"),
        ("tl.load(x, cache_modifier='.wb')", "Unsupported cache modifier 'wb'; loads support '.ca', '.cg', '.cs', '.cv'"),
        ("tl.store(x, 1, cache_modifier='.ca')", "Unsupported cache modifier 'ca'; stores support"),
        ("tl.load(x, eviction_policy='evict')", "Unsupported eviction policy 'evict'"),
        ("tl.load(x + o, boundary_check=(0,))", "boundary_check and padding_option require a block pointer"),
    ],
)  # fmt: skip
def test_wrong_accesses_say_what_is_wrong(line: str, message: str) -> None:
    source = f"""
    @jit
    def kernel(x, n, N: tl.constexpr):
        o = tl.arange(0, N)
        {line}
    """
    with pytest.raises(CompileError) as caught:
        our_module(source, dict(x="*fp32", n="i32"), dict(N=16))
    assert message in str(caught.value)
