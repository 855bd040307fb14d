"""Block pointers mean blocks of pointers with masks: the text is that of the kernel written so."""

import pytest

from tests.language.tl.against_triton import our_module, our_text, triton_text
from tilewright.ir.diagnostics import CompileError

SIGNATURE = dict(x="*fp32", y="*fp32", m="i32", n="i32")
CONSTANTS = dict(M=16, N=32)

HEAD = """
@jit
def kernel(x, y, m, n, M: tl.constexpr, N: tl.constexpr):
    start = tl.program_id(0) * M
"""

BLOCKS = f"""{HEAD}
    source = tl.make_block_ptr(x, (m, n), (n, 1), (start, 0), (M, N), order=(1, 0))
    target = tl.make_block_ptr(y, (m, n), (n, 1), (start, 0), (M, N), order=(1, 0))
    tl.store(target, tl.load(source{{load}}){{store}})
"""

POINTERS = f"""{HEAD}
    m_wide = m.to(tl.int64)
    n_wide = n.to(tl.int64)
    stride = n.to(tl.int64)
    one = tl.full((), 1, tl.int64)
    zero = 0
    y_m = m.to(tl.int64)
    y_n = n.to(tl.int64)
    y_stride = n.to(tl.int64)
    y_one = tl.full((), 1, tl.int64)
    y_zero = 0
    rows = (start.to(tl.int64) + tl.arange(0, M).to(tl.int64))[:, None]
    columns = (zero.to(tl.int64) + tl.arange(0, N).to(tl.int64))[None, :]
    pointers = tl.broadcast_to(x, (M, N)) + tl.broadcast_to(rows * stride, (M, N))
    pointers += tl.broadcast_to(columns * one, (M, N))
    {{load}}
    y_rows = (start.to(tl.int64) + tl.arange(0, M).to(tl.int64))[:, None]
    y_columns = (y_zero.to(tl.int64) + tl.arange(0, N).to(tl.int64))[None, :]
    y_pointers = tl.broadcast_to(y, (M, N)) + tl.broadcast_to(y_rows * y_stride, (M, N))
    y_pointers += tl.broadcast_to(y_columns * y_one, (M, N))
    {{store}}
"""

ROWS = "tl.broadcast_to((rows >= 0) & (rows < m_wide), (M, N))"
COLUMNS = "tl.broadcast_to((columns >= 0) & (columns < n_wide), (M, N))"
Y_COLUMNS = "tl.broadcast_to((y_columns >= 0) & (y_columns < y_n), (M, N))"


@pytest.mark.parametrize(
    ("load", "store", "as_load", "as_store"),
    [
        ("", "", "value = tl.load(pointers)", "tl.store(y_pointers, value)"),
        (
            ", boundary_check=(0,)",
            "",
            f"value = tl.load(pointers, mask={ROWS})",
            "tl.store(y_pointers, value)",
        ),
        (
            ", boundary_check=(1, 0), padding_option='zero', cache_modifier='.cg'",
            ", boundary_check=(1,)",
            f"value = tl.load(pointers, mask={ROWS} & {COLUMNS}, other=0, cache_modifier='.cg')",
            f"tl.store(y_pointers, value, mask={Y_COLUMNS})",
        ),
        (
            ", boundary_check=1, padding_option='nan'",
            ", boundary_check=1, eviction_policy='evict_first'",
            f"value = tl.load(pointers, mask={COLUMNS}, other=float('nan'))",
            f"tl.store(y_pointers, value, mask={Y_COLUMNS}, eviction_policy='evict_first')",
        ),
    ],
)
def test_pointers_and_masks(load: str, store: str, as_load: str, as_store: str) -> None:
    found = our_text(BLOCKS.format(load=load, store=store), SIGNATURE, CONSTANTS)
    written = POINTERS.format(load=as_load, store=as_store)
    assert found == our_text(written, SIGNATURE, CONSTANTS)
    assert found == triton_text(written, SIGNATURE, CONSTANTS)


def test_a_loop_carries_only_what_moves() -> None:
    source = f"""{HEAD}
    block = tl.make_block_ptr(x, (m, n), (n, 1), (start, 0), (M, N), order=(1, 0))
    total = tl.zeros((M, N), tl.float32)
    for _ in range(0, n, N):
        total += tl.load(block, boundary_check=(1,), padding_option="zero")
        block = tl.advance(block, (0, N))
    tl.store(tl.make_block_ptr(y, (m, N), (N, 1), (start, 0), (M, N), (1, 0)), total)
    """
    text = our_text(source, SIGNATURE, CONSTANTS)
    assert text.count("scf.for") == 1
    assert text.count("tt.load") == 1


@pytest.mark.parametrize(
    "target",
    [
        "target.dtype.element_ty",
        "target.type.element_ty",
        "target.dtype.element_ty.element_ty",
        "y.dtype.element_ty",
    ],
)
def test_a_value_is_cast_to_what_the_block_holds(target: str) -> None:
    source = f"""{HEAD}
    target = tl.make_block_ptr(y, (m, n), (n, 1), (start, 0), (M, N), order=(1, 0))
    tl.static_assert(target.dtype.is_ptr())
    tl.store(target, tl.full((M, N), 1.5, tl.float32).to({target}))
    """
    text = our_text(source, {**SIGNATURE, "y": "*fp16"}, CONSTANTS)
    assert "arith.truncf" in text
    assert "tensor<16x32xf16>" in text


def test_advance_is_also_a_method() -> None:
    source = f"""{HEAD}
    block = tl.make_block_ptr(x, (m, n), (n, 1), (start, 0), (M, N), (1, 0))
    tl.store({{}}, 1.0)
    """
    function = our_text(source.format("tl.advance(block, (3, m))"), SIGNATURE, CONSTANTS)
    assert our_text(source.format("block.advance((3, m))"), SIGNATURE, CONSTANTS) == function


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tl.load(block, mask=m > 0)", "`mask` and `other` cannot be given to `tl.load` of a block pointer"),
        ("tl.load(block, boundary_check=(2,))", "boundary_check lists dimensions of the block, 0 to 1, got [2]"),
        ("tl.load(block, boundary_check=(1, 1))", "boundary_check lists a dimension twice: [1, 1]"),
        ("tl.load(block, boundary_check=(1,), padding_option='one')", "Padding option one not supported"),
        ("tl.load(ints, boundary_check=(0,), padding_option='nan')", "Padding option `nan` is not supported for integer block pointers"),
        ("tl.advance(block, (1,))", "tl.advance expects 2 offsets, one per dimension of the block, got 1"),
        ("tl.advance(x, (1,))", "tl.advance expects a pointer from tl.make_block_ptr"),
        ("tl.make_block_ptr(m, (m,), (1,), (0,), (16,), (0,))", "Expected `base` to be a pointer type"),
        ("tl.make_block_ptr(x, (m, n), (1,), (0,), (16,), (0,))", "to have the same length, got 2, 1, 1, 1, 1"),
        ("tl.make_block_ptr(x, (m, n), (n, 1), (0, 0), (16, 16), (0, 2))", "Expected `order` to be a permutation of (0, 1, ..., rank-1), got (0, 2)"),
        ("tl.make_block_ptr(x, (m,), (1,), (0,), (12,), (0,))", "Shape element 0 must be a power of 2, but is 12"),
        ("tl.store(block, tl.zeros((4, 4), tl.float32))", "incompatible dimensions at index 0: 16 and 4"),
    ],
)  # fmt: skip
def test_wrong_calls_say_what_is_wrong(line: str, message: str) -> None:
    source = f"""
    @jit
    def kernel(x, i, m, n, M: tl.constexpr, N: tl.constexpr):
        block = tl.make_block_ptr(x, (m, n), (n, 1), (0, 0), (M, N), (1, 0))
        ints = tl.make_block_ptr(i, (m,), (1,), (0,), (M,), (0,))
        {line}
    """
    with pytest.raises(CompileError) as caught:
        our_module(source, dict(x="*fp32", i="*i32", m="i32", n="i32"), CONSTANTS)
    assert message in str(caught.value)
