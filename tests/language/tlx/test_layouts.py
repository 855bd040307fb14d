"""Layouts: what the author's objects are in the IR."""

import pytest

from tests.language.tlx.ours import check, emitted
from tilewright import tl, tlx
from tilewright.ir.diagnostics import CompileError


def _text(layout: object) -> str:
    """A layout's attribute, as text."""
    return str(layout.to_ir())  # type: ignore[attr-defined]


NVMMA = "#ttg.nvmma_shared<{{swizzlingByteWidth = {}, transposed = {}, elementBitWidth = {}{}}}>"


@pytest.mark.parametrize(
    ("shape", "element", "expected"),
    [
        ((64, 64), tl.float16, (128, "false", 16, "")),
        ((64, 32), tl.float16, (64, "false", 16, "")),
        ((64, 16), tl.float16, (32, "false", 16, "")),
        ((64, 8), tl.float16, (0, "false", 16, "")),
        ((4, 64), tl.float16, (0, "false", 16, "")),
        ((8, 64), tl.float32, (128, "false", 32, "")),
        ((2, 64, 64), tl.float16, (128, "false", 16, ", rank = 3")),
        ((2, 4, 64), tl.float8e5, (64, "false", 8, ", rank = 3")),
    ],
)
def test_width_of_the_pattern(
    shape: tuple[int, ...], element: tl.dtype, expected: tuple[object, ...]
) -> None:
    layout = tlx.nv_mma_shared_layout_encoding.make_default(shape, element)
    assert _text(layout) == NVMMA.format(*expected)


def test_packed_pairs_are_twice_as_wide() -> None:
    plain = tlx.nv_mma_shared_layout_encoding.make_default((64, 64), tl.uint8)
    padded = tlx.nv_mma_shared_layout_encoding.make_default((64, 64), tl.uint8, fp4Padded=True)
    assert "swizzlingByteWidth = 64" in _text(plain)
    assert "swizzlingByteWidth = 128" in _text(padded)
    assert "fp4Padded = true" in _text(padded)


def test_transposed() -> None:
    layout = tlx.nv_mma_shared_layout_encoding.make_default((64, 32), tl.float16)
    turned = layout.make_permute((1, 0))
    assert turned.order == (0, 1)
    assert "transposed = true" in _text(turned)


def test_swizzled() -> None:
    default = tlx.swizzled_shared_layout_encoding.make_default(rank=2)
    assert _text(default) == (
        "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    )
    assert "order = [0, 1]" in _text(default.make_permute((1, 0)))


@pytest.mark.parametrize(
    ("layout", "shape", "expected"),
    [
        ((3, 3, 3), (64, 64), "vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]"),
        ((2, 3, 3), (64, 32), "vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]"),
        ((0,), (64, 64), "vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]"),
    ],
)
def test_swizzle_in_terms_of_cute(
    layout: tuple[int, ...], shape: tuple[int, ...], expected: str
) -> None:
    found = emitted(
        f"tlx.local_alloc({shape}, tl.float16, 1, layout=tlx.swizzled_layout{layout})".replace(
            "(0,)", "(0)"
        )
    )
    expected = expected if "vec = 1" not in expected else "plain"
    inside = expected if expected == "plain" else f"#ttg.swizzled_shared<{{{expected}}}>"
    assert f"#tlx.user_layout<{inside}>" in found[-1]


def test_views_of_a_chosen_layout_are_of_the_layout_itself() -> None:
    body = (
        "b = tlx.local_alloc((64, 64), tl.float16, 1, layout=tlx.swizzled_layout(3, 3, 3))\n"
        "tlx.local_slice(b[0], [0, 32], [64, 32])"
    )
    layout = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    check(
        f"""
        %r = tlx.require_layout %v : M<64x64xf16, #tlx.user_layout<{layout}>, smem> -> M<64x64xf16, {layout}, smem>
        %s = ttg.memdesc_subslice %r[0, 32] : M<64x64xf16, {layout}, smem> -> M<64x32xf16, {layout}, smem, 64x64>
        """,
        emitted(body),
    )


def test_padded() -> None:
    layout = tlx.padded_shared_layout_encoding.with_identity_for([[128, 16]], [64, 128], [1, 0])
    assert _text(layout) == "#ttg.padded_shared<[128:+16] {order = [1, 0], shape = [64, 128]}>"
    bases = tlx.padded_shared_layout_encoding.with_bases([(4, 2)], [[0, 1], [1, 0], [0, 2]], [2, 4])
    assert _text(bases) == (
        "#ttg.padded_shared<[4:+2] {offset = [[0, 1], [1, 0], [0, 2]], block = []}>"
    )
    with pytest.raises(AssertionError, match=r"each base vector must have length rank=2, got 1"):
        tlx.padded_shared_layout_encoding.with_bases([(4, 2)], [[0, 1], [1]], [2, 4])


def test_linear_in_shared_memory() -> None:
    layout = tlx.shared_linear_layout_encoding([[0, 1], [1, 0]], [], 32)
    assert _text(layout) == ("#ttg.shared_linear<{offset = [[0, 1], [1, 0]]}, alignment = 32>")
    assert layout.order == (1, 0)


def test_tensor_memory() -> None:
    layout = tlx.tensor_memory_layout_encoding(64, 128, 2, 1, 1, tlx.TMemCTAMode.TwoCTA_LHS)
    assert _text(layout) == (
        "#ttng.tensor_memory_encoding<blockM = 64, blockN = 128, colStride = 2, "
        "ctaMode = twocta_lhs>"
    )
    split = tlx.tensor_memory_layout_encoding(128, 64, CTASplitM=2)
    assert "CGALayout = [[1, 0]]" in _text(split)


def test_registers() -> None:
    """8 values in a row for each thread, 32 lanes, 4 warps."""
    body = (
        "v = tl.arange(0, 1024)\n"
        "v = tlx.require_layout(v, tlx.layout(shape=((32, 4), (8,)), stride=((8, 256), (1,))))\n"
        "tlx.dump_layout(v)\ntlx.assert_same_layout(v, v)\ntlx.release_layout(v)"
    )
    linear = (
        "#ttg.linear<{register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], "
        "warp = [[256], [512]], block = []}>"
    )
    type = f"tensor<1024xi32, #tlx.no_verify_layout<#tlx.user_layout<{linear}>>>"
    check(
        f"""
        %v = tlx.require_layout %a : tensor<1024xi32> -> {type}
        tlx.dump_layout %v : {type}
        tlx.assert_same_layout %v, %v : {type}, {type}
        %r = tlx.release_layout %v : {type} -> tensor<1024xi32>
        """,
        emitted(body),
    )


def test_registers_of_a_matrix() -> None:
    """Strides count elements row by row, in two dimensions."""
    found = emitted(
        "b = tlx.local_alloc((32, 64), tl.float32, 1)\n"
        "tlx.local_load(b[0], layout=tlx.layout(((32, 4), (16,)), ((64, 16), (1,))))"
    )
    assert "register = [[0, 1], [0, 2], [0, 4], [0, 8]]" in found[-1]
    assert "lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]" in found[-1]
    assert "warp = [[0, 16], [0, 32]]" in found[-1]


def test_registers_that_overlap() -> None:
    found = emitted(
        "v = tl.arange(0, 64)\n"
        "tlx.require_layout(v, tlx.layout(((32,), (2, 2)), ((1,), (32, 32))), pin=False)"
    )
    assert "#ttg.generic_linear<{register = [[32], [32]]" in found[-1]
    assert "user_layout" not in found[-1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "tlx.require_layout(tl.arange(0, 64), tlx.layout(((32,), (4,)), ((1,), (32,))))",
            "layout exceeds the tensor shape [64]",
        ),
        ("tlx.layout(((3,), (4,)), ((1,), (32,)))\ntlx.dump_layout(tlx.require_layout("
         "tl.arange(0, 64), tlx.layout(((3,), (4,)), ((1,), (32,)))))",
         "layout extents must be powers of two, got 3"),
        (
            "tlx.local_alloc((64, 64), tl.float16, 1, layout='row')",
            "`layout` must be a tlx.shared_layout_encoding, got str",
        ),
    ],
)  # fmt: skip
def test_mistakes(line: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        emitted(line)
    assert message in str(caught.value)


def test_accumulators_and_operands() -> None:
    mma = tlx.amd_mfma_layout(4, (32, 32, 16), True, (2, 2))
    assert _text(mma).startswith(
        "#ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [32"
    )
    operand = tlx.dot_operand_layout(1, mma, 8)
    assert _text(operand).startswith("#ttg.dot_op<{opIdx = 1, parent = #ttg.amd_mfma<")
    assert _text(operand).endswith("kWidth = 8}>")
    assert _text(tlx.slice_layout(1, mma)).startswith(
        "#ttg.slice<{dim = 1, parent = #ttg.amd_mfma<"
    )


def test_zeros_in_a_layout() -> None:
    found = emitted(
        "tlx.zeros((64, 64), tl.float32, tlx.amd_mfma_layout(4, (32, 32, 16), True, (2, 2)))",
        target=("hip", "gfx950"),
    )
    assert "= tt.splat" in found[-1]
    assert "#tlx.no_verify_layout<#ttg.amd_mfma<" in found[-1]
