"""Tensor descriptors, made in the kernel and by the host: the same ops as Triton's."""

import pytest

from tests.language.tl.against_triton import check, our_module
from tilewright.ir.diagnostics import CompileError

MADE = """
@jit
def kernel(x, m, n, row, M: tl.constexpr, N: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    {}
"""


def _made(line: str, element: str = "fp32", m: int = 16, n: int = 32, **options: object) -> str:
    signature = dict(x=f"*{element}", m="i32", n="i32", row="i32")
    return check(MADE.format(line), signature, dict(M=m, N=n), **options)


@pytest.mark.parametrize(
    "element", ["i8", "u8", "i16", "i32", "u32", "i64", "fp16", "bf16", "fp32", "fp64", "fp8e5"]
)
def test_of_every_element_type(element: str) -> None:
    _made("desc.store([row, 32], desc.load([row, 0]))", element)


@pytest.mark.parametrize(
    "line",
    [
        "desc.store([row + 1, n], desc.load((m, 4)).to(tl.float16))",
        "tl.store_tensor_descriptor(desc, [row, 0], tl.load_tensor_descriptor(desc, [0, row]))",
        "desc.store([row, 0], tl.zeros((M, N), tl.int32) + desc.shape[0] + desc.strides[0])",
        'tl.device_print("shape", desc.load([0, 0]) * (desc.block_shape[0] + desc.block_shape[1]))',
    ],
)
def test_blocks(line: str) -> None:
    _made(line)


@pytest.mark.parametrize(
    ("kind", "element"),
    [
        *(("add", each) for each in ("i32", "u32", "u64", "fp32", "fp16", "bf16")),
        *((kind, each) for kind in ("min", "max") for each in ("i32", "u32", "i64", "u64", "fp16", "bf16")),
        *((kind, each) for kind in ("and", "or", "xor") for each in ("i32", "u32", "i64", "u64")),
    ],
)  # fmt: skip
def test_reductions(kind: str, element: str) -> None:
    _made(f"desc.atomic_{kind}([row, 0], desc.load([0, 0]))", element)


def test_rows() -> None:
    _made(
        """rows = tl.arange(0, 16) * 2
    desc.scatter(desc.gather(rows, row), rows, 0)""",
        m=1,
    )


def test_of_the_host() -> None:
    text = check(
        """
        @jit
        def kernel(d, e, n):
            block = d.load([n, 0])
            e.store([0, d.shape[0]], block)
            tl.device_print("stride", d.strides[0] + e.strides[1])
        """,
        {"d": "tensordesc<fp16[16,64]>", "e": "tensordesc<i8[16,64]>", "n": "i32"},
    )
    assert "!tt.tensordesc<16x64xf16>, %arg1: i32, %arg2: i32, %arg3: i64, %arg4: i64" in text
    assert "!tt.tensordesc<16x64xsi8>" in text


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_of_every_rank(rank: int) -> None:
    shape = ", ".join(["n"] * rank)
    block = ", ".join(["2"] * (rank - 1) + ["16"])
    strides = ", ".join(["n"] * (rank - 1) + ["1"])
    at = ", ".join(["0"] * rank)
    check(
        f"""
        @jit
        def kernel(x, n):
            desc = tl.make_tensor_descriptor(
                x, shape=[{shape}], strides=[{strides}], block_shape=[{block}], padding_option="nan")
            desc.store([{at}], desc.load([{at}]))
        """,
        dict(x="*fp32", n="i64"),
    )


def test_carried_by_a_loop() -> None:
    _made(
        """for step in range(4):
        block = desc.load([row, step * N])
        desc = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[M, N])
        desc.store([step, 0], block)"""
    )


def test_chosen_by_a_branch() -> None:
    _made(
        """if row > 3:
        desc = tl.make_tensor_descriptor(x, shape=[n, m], strides=[m, 1], block_shape=[M, N])
    desc.store([row, 0], desc.load([0, 0]))"""
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("desc.load([row])", "expected 2 offsets, but got 1"),
        ("desc.load([row, row.to(tl.int64)])", "add a `.to(tl.int32)` to convert the value"),
        ("desc.load([row, 1.5])", "a shape, stride or offset must be an integer or a scalar tensor, got 1.5"),
        ("desc.store([row, 0], tl.zeros((32, 16), tl.float32))", "expected value shape [16, 32], got [32, 16]"),
        ("desc.atomic_min([0, 0], desc.load([0, 0]))", "Unsupported dtype fp32 for atomic_min; expected one of uint32"),
        ("desc.gather(tl.arange(0, 16), 0)", "descriptor of a gather must be 2D with a block of 1 row, but got [16, 32]"),
        ("row_desc.gather(tl.arange(0, 4), 0)", "descriptor gather must have at least 8 rows, but got [4]"),
        ("row_desc.gather(tl.arange(0, 8).to(tl.int64), 0)", "x offsets must have dtype int16 or int32, but got int64"),
        ("row_desc.gather(row, 0)", "x offsets of a descriptor gather must be 1D"),
        ("row_desc.gather(tl.arange(0, 8))", "only supports 2D indexing, by rows and a column, but got 1"),
        ("tl.make_tensor_descriptor(x, [n], [1], [2])", "at least 16 bytes in the last dimension, but got 2 * 4 = 8 bytes"),
        ("tl.make_tensor_descriptor(x, [n, n], [n, n], [2, 32])", "last dim must be 1 but got int32[]: write the literal 1"),
        ("tl.make_tensor_descriptor(x, [n, n], [n, 2], [2, 32])", "last dim must be 1 but got 2"),
        ("tl.make_tensor_descriptor(x, [n, n], [3, 1], [2, 32])", "must be 16-byte aligned, but got a stride of 3 * 4 = 12 bytes"),
        ("tl.make_tensor_descriptor(x, [n, n], [1], [2, 32])", "Expected 2 strides but got 1"),
        ("tl.make_tensor_descriptor(x, [n, n], [n, 1], [32])", "Expected block_shape to have 2 dimensions but got 1"),
        ("tl.make_tensor_descriptor(x, [n] * 6, [n] * 6, [32] * 6)", "Expected 1 <= ndim <= 5 but got 6 dimensions"),
        ("tl.make_tensor_descriptor(n, [n], [1], [32])", "base must be a pointer type, got int32[]"),
        ("tl.make_tensor_descriptor(i, [n], [1], [32], 'nan')", "Padding option `nan` is not supported for integer blocks"),
        ("tl.make_tensor_descriptor(x, [n], [1], [32], 'one')", "Padding option one not supported"),
    ],
)  # fmt: skip
def test_wrong_calls_say_what_is_wrong(line: str, message: str) -> None:
    source = f"""
    @jit
    def kernel(x, i, n, row):
        desc = tl.make_tensor_descriptor(x, shape=[n, n], strides=[n, 1], block_shape=[16, 32])
        row_desc = tl.make_tensor_descriptor(x, shape=[n, n], strides=[n, 1], block_shape=[1, 32])
        {line}
    """
    with pytest.raises(CompileError) as caught:
        our_module(source, dict(x="*fp32", i="*i32", n="i32", row="i32"), {})
    assert message in str(caught.value)


def test_half_floats_need_the_accelerator_for_extrema() -> None:
    source = MADE.format("desc.atomic_max([0, 0], desc.load([0, 0]))")
    signature = dict(x="*fp16", m="i32", n="i32", row="i32")
    with pytest.raises(CompileError, match="require native tma support"):
        our_module(source, signature, dict(M=16, N=32), ("cuda", 80))
