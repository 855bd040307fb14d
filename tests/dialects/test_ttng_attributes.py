"""Attributes and types of ``ttng``: text for every release, and what is wrong with wrong ones."""

import re

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError, VerifyException

from tilewright.dialects import make_context
from tilewright.dialects.ttng import (
    TENSOR_MEMORY,
    TensorMemoryEncoding,
    TensorMemoryScalesEncoding,
)
from tilewright.dialects.ttng.attributes import bases_of_splits, splits_of_bases
from tilewright.ir.text.flavour import TLX, TRITON_3_7, TRITON_3_8, TRITON_3_9, Flavour
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import print_module

TMEM = "#ttng.tensor_memory_encoding"
SCALES = "#ttng.tensor_memory_scales_encoding"


def attribute(text: str):
    return IRParser(make_context(), text).parse_attribute()


def type_of(text: str):
    return IRParser(make_context(), text).parse_type()


def spelled(value, flavour: Flavour) -> str:
    """The parameters of an attribute or type, as `flavour` has them."""
    text = print_module(ModuleOp([], attributes={"x": value}), flavour=flavour)
    start = text.index(value.name) + len(value.name)
    return text[start : text.index("\n", start)].removesuffix("} {")


@pytest.mark.parametrize(
    "text",
    [
        f"{TMEM}<blockM = 128, blockN = 64, colStride = 1>",
        f"{TMEM}<blockM = 64, blockN = 512, colStride = 4>",
        f"{TMEM}<blockM = 128, blockN = 64, colStride = 1, CGALayout = [[1, 0]], twoCTAs = true>",
        f"{TMEM}<blockM = 64, blockN = 64, colStride = 1, ctaMode = twocta_rhs>",
        f"{TMEM}<blockM = 128, blockN = 64, colStride = 1, fp4Padded = true>",
        f"{SCALES}<>",
        f"{SCALES}<CGALayout = [[1, 0], [0, 1]], blockRepOrder = kThenMn>",
        "#ttng.tensor_memory",
        "#ttng.shared_cluster_memory",
        "#ttng.redOp<min>",
        "#ttng.redOp<max>",
        "#ttng.cache_policy<>",
        "#ttng.cache_policy<cache_modifier = cg, l2_prefetch_size = 64 : i32>",
        "#ttng.cache_policy<l1 = no_allocate, l2_primary = evict_last, l2_secondary = evict_unchanged, l2_fraction = 5.000000e-01 : f32>",
    ],
)
def test_attribute_is_written_as_it_was_read(text: str) -> None:
    assert str(attribute(text)) == text


def test_fields_are_plain_values() -> None:
    layout = attribute(f"{TMEM}<blockM = 128, blockN = 64, colStride = 2, CGALayout = [[0, 1]]>")
    assert isinstance(layout, TensorMemoryEncoding)
    assert (layout.block_m, layout.block_n, layout.col_stride) == (128, 64, 2)
    assert layout.cga == ((0, 1),)
    assert (layout.rank, layout.num_ctas) == (2, 2)
    assert not layout.two_ctas


@pytest.mark.parametrize(
    ("flavour", "text"),
    [
        (TRITON_3_9, "CGALayout = [[1, 0]], twoCTAs = true"),
        (TRITON_3_8, "CGALayout = [[1, 0]], twoCTAs = true"),
        (TLX, "CGALayout = [[1, 0]], twoCTAs = true"),
        (TRITON_3_7, "CTASplitM = 2, twoCTAs = true"),
    ],
)
def test_cta_layout_is_spelled_for_the_release(flavour: Flavour, text: str) -> None:
    layout = TensorMemoryEncoding(
        block_m=128, block_n=64, col_stride=1, cga_layout=((1, 0),), two_ctas=True
    )
    assert spelled(layout, flavour) == f"<blockM = 128, blockN = 64, colStride = 1, {text}>"
    assert attribute(f"{TMEM}<blockM = 128, blockN = 64, colStride = 1, {text}>") == layout


def test_scales_of_older_text() -> None:
    layout = attribute(f"{SCALES}<CTASplitM = 2, CTASplitN = 2>")
    assert layout == TensorMemoryScalesEncoding(cga_layout=((1, 0), (0, 1)))
    assert spelled(layout, TRITON_3_7) == "<CTASplitM = 2, CTASplitN = 2>"


@pytest.mark.parametrize("splits", [(1, 1), (2, 1), (1, 4), (4, 2)])
def test_splits_and_bases_mean_the_same(splits: tuple[int, int]) -> None:
    assert splits_of_bases(bases_of_splits(*splits)) == splits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blockM = 96, blockN = 128, colStride = 1", "blockM must be 64 or 128 but got 96"),
        ("blockM = 128, blockN = 100, colStride = 1", "blockN must be a power of 2 but got 100"),
        (
            "blockM = 128, blockN = 1024, colStride = 1",
            "blockN must be less than or equal to 512 but got 1024",
        ),
        (
            "blockM = 128, blockN = 128, colStride = 3",
            "colStride must be 1, 2, or 4 but got but got 3",
        ),
        (
            "blockM = 128, blockN = 64, colStride = 2, fp4Padded = true",
            "fp4Padded tensor memory layout requires colStride 1 but got 2",
        ),
        (
            "blockM = 128, blockN = 64, colStride = 1, CGALayout = [[0, 1]], twoCTAs = true",
            "twoCTAs layout requires the first CGALayout block basis to be [1, 0]",
        ),
        (
            "blockM = 128, blockN = 64, colStride = 1, CGALayout = [[1]]",
            "CGALayout of a tensor memory layout must have rank 2",
        ),
    ],
)
def test_impossible_layouts(text: str, message: str) -> None:
    with pytest.raises((VerifyException, ParseError), match=re.escape(message)):
        attribute(f"{TMEM}<{text}>")


def test_a_missing_key_is_named() -> None:
    with pytest.raises(ParseError, match="colStride"):
        attribute(f"{TMEM}<blockM = 128, blockN = 128>")


def test_both_ways_to_split_are_too_many() -> None:
    with pytest.raises(ParseError, match="cannot be combined with CGALayout"):
        attribute(f"{SCALES}<CTASplitM = 2, CGALayout = [[1, 0]]>")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"128x64xf32, {TMEM}<blockM = 128, blockN = 64, colStride = 1>, #ttg.shared_memory",
            "memorySpace must be TensorMemorySpace",
        ),
        (
            f"128xf32, {TMEM}<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory",
            "rank must be 2 or 3",
        ),
        (
            f"128x64xf32, {TMEM}<blockM = 128, blockN = 64, colStride = 2>, #ttng.tensor_memory",
            "bitwidth * colStride must be less than or equal to 32. Got 32 and 2",
        ),
        (
            f"64x64xf32, {TMEM}<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory",
            "the tensor shape must be at least 128x64. Got 64, 64",
        ),
        (
            f"128x64xi1, {TMEM}<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory",
            "tensor-memory element type bit width must be at least 8; got 1",
        ),
        (f"128x4xf32, {SCALES}<>, #ttng.tensor_memory", "bitwidth must be 8"),
        (
            f"128xi8, {SCALES}<>, #ttng.tensor_memory",
            "tensor-memory scale descriptors must have rank 2; got 1",
        ),
        (f"128x4xi8, {SCALES}<>, #ttg.shared_memory", "memorySpace must be TensorMemorySpace"),
    ],
)
def test_buffers_that_do_not_fit_the_layout(text: str, message: str) -> None:
    with pytest.raises((VerifyException, ParseError), match=re.escape(message)):
        type_of(f"!ttg.memdesc<{text}>")


def test_several_buffers_have_one_dimension_more() -> None:
    type = type_of(
        f"!ttg.memdesc<3x128x64xf32, {TMEM}<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory, mutable>"
    )
    assert type.memory_space == TENSOR_MEMORY
    assert type.is_pipelined


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "cache_modifier = ca, l1 = evict_first",
            "cache modifier cannot be combined with an L1 eviction priority",
        ),
        ("l2_primary = evict_first", "L2 policy requires l2_secondary and l2_fraction"),
    ],
)
def test_impossible_cache_policies(text: str, message: str) -> None:
    with pytest.raises((VerifyException, ParseError), match=re.escape(message)):
        attribute(f"#ttng.cache_policy<{text}>")


def test_unknown_reductions_are_refused() -> None:
    with pytest.raises(ParseError, match="expected one of min, max"):
        attribute("#ttng.redOp<sum>")


@pytest.mark.parametrize(
    ("flavour", "text"),
    [(TRITON_3_9, "<64x128xf16>"), (TRITON_3_7, "<tensor<64x128xf16>>")],
)
def test_im2col_descriptors(flavour: Flavour, text: str) -> None:
    type = type_of(f"!ttng.tensordesc_im2col{text}")
    assert type.shape == (64, 128)
    assert spelled(type, flavour) == text


def test_im2col_descriptors_have_two_dimensions() -> None:
    message = "TensorDescIm2ColType requires rank-2 shape, got rank 1"
    with pytest.raises((VerifyException, ParseError), match=message):
        type_of("!ttng.tensordesc_im2col<64xf16>")
