"""Layout attributes: text of every release, what they answer, what they refuse.

Messages and texts were compared with those of Triton 3.6 to 3.9.
"""

import pytest

from tests.dialects.ttg_support import attribute, fault, module_text, parse, text_of
from tilewright.dialects import ttg
from tilewright.dialects.ttg.mma import CtaTiles
from tilewright.ir.text import print_module

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
MMA2 = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
MMA3 = "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>"
MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>"
SWIZZLED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
LINEAR = "#ttg.linear<{register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [0, 0]], warp = [[4, 0]], block = []}>"


def wmma(version: int, rest: str = "") -> str:
    return f"#ttg.amd_wmma<{{version = {version}, ctaLayout = {{warp = []}}{rest}}}>"


SAME_TEXT = [
    BLOCKED,
    BLOCKED.replace("}>", ", CGALayout = [[1, 0], [0, 0]]}>"),
    "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [8], order = [0]}>",
    LINEAR,
    "#ttg.linear<{register = [], lane = [[0], [0], [1], [0], [0]], warp = [[0], [0]], block = []}>",
    "#ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = [[2, 0]]}>",
    "#ttg.generic_linear<{register = [[0, 1]], lane = [[0, 2]], warp = [[1, 1]], block = []}>",
    f"#ttg.slice<{{dim = 1, parent = {BLOCKED}}}>",
    "#ttg.slice<{dim = 0, parent = #ttg.slice<{dim = 2, parent = #ttg.blocked<{sizePerThread = [1, 1, 1], "
    "threadsPerWarp = [1, 1, 32], warpsPerCTA = [1, 4, 1], order = [2, 1, 0]}>}>}>",
    f"#ttg.dot_op<{{opIdx = 0, parent = {BLOCKED}}}>",
    f"#ttg.dot_op<{{opIdx = 1, parent = {MMA2}, kWidth = 2}}>",
    f"#ttg.dot_op<{{opIdx = 0, parent = {MFMA}, kWidth = 4}}>",
    MMA2,
    MMA3,
    "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], CGALayout = [[0, 1]], instrShape = [16, 64, 16]}>",
    MFMA,
    "#ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [16, 16, 32], isTransposed = false, "
    "CGALayout = [[0, 1]], tilesPerWarp = [2, 1], elementBitWidth = 64}>",
    "#ttg.amd_wmma<{version = 3, isTranspose = true, ctaLayout = {warp = [[0, 1], [1, 0]]}, instrShape = [16, 16, 32]}>",
    "#ttg.amd_wmma<{version = 2, isTranspose = false, ctaLayout = {register = [[0, 1]], warp = [[0, 2], [1, 0]]}, CGALayout = [[1, 0]]}>",
    "#ttg.amd_wmma<{version = 1, isTranspose = false, ctaLayout = {}}>",
    SWIZZLED,
    "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = [[1]]}>",
    "#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [0, 1]}>",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8, fp4Padded = true}>",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 32, rank = 5}>",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16, CGALayout = [[0, 0, 1]]}>",
    "#ttg.padded_shared<[64:+4] {order = [1, 0], shape = [32, 64]}>",
    "#ttg.padded_shared<[4:+4, 8:+2] {order = [0, 1], shape = [4, 1]}>",
    "#ttg.padded_shared<[512:+8] {offset = [[0, 1], [0, 2], [2, 0], [1, 0]], block = []}>",
    "#ttg.padded_shared<[4:+4] {offset = [[1, 0]], block = [[0, 1]]}>",
    "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}, alignment = 16>",
    "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0]], block = [[2, 0]]}, alignment = 512>",
    f"#ttg.partitioned_shared<{{numPartitions = 2, numGroups = 4, partitionDim = 1, partitionLayout = {SWIZZLED}}}>",
    "#ttg.shared_memory",
]


@pytest.mark.parametrize("text", SAME_TEXT)
def test_text_comes_back(text: str):
    assert text_of(attribute(text)) == text


@pytest.mark.parametrize("text", SAME_TEXT)
def test_rebuilt_from_parameters(text: str):
    found = attribute(text)
    again = type(found).new(found.parameters)
    assert again == found
    assert hash(again) == hash(found)


def test_every_attribute_is_tested():
    names = {text.split("<")[0].removeprefix("#") for text in SAME_TEXT}
    assert names == {
        each.name
        for each in ttg.Ttg.attributes
        if each not in (ttg.MemDescType, ttg.AsyncTokenType)
    }


# Other spellings that mean the same.

OTHER_SPELLINGS = {
    "keys in any order": (
        "#ttg.blocked<{order = [1, 0], warpsPerCTA = [4, 1], sizePerThread = [1, 8], threadsPerWarp = [4, 8]}>",
        BLOCKED,
    ),
    "typed integers": (BLOCKED.replace("[1, 8]", "[1 : i32, 8 : i32]"), BLOCKED),
    "minor version left out": (MMA2.replace(" versionMinor = 0,", ""), MMA2),
    "unit tiles": (MFMA.replace("}>", ", tilesPerWarp = [1, 1]}>"), MFMA),
    "default element width": (MFMA.replace("}>", ", elementBitWidth = 32}>"), MFMA),
    "rank of a matrix": (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16, rank = 2}>",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>",
    ),
    "rank that the CGA layout tells": (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, elementBitWidth = 16, rank = 3, CGALayout = [[0, 0, 1]]}>",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16, CGALayout = [[0, 0, 1]]}>",
    ),
    "empty bases": (
        wmma(2, ", isTranspose = false"),
        "#ttg.amd_wmma<{version = 2, isTranspose = false, ctaLayout = {}}>",
    ),
    "bases in order": (
        "#ttg.padded_shared<[4:+4] {offset = [[1, 0], [2, 0], [0, 1], [0, 2]], block = []}>",
        "#ttg.padded_shared<[4:+4] {order = [0, 1], shape = [4, 4]}>",
    ),
    "no block bases": (
        "#ttg.shared_linear<{offset = [[0, 1]], block = []}, alignment = 16>",
        "#ttg.shared_linear<{offset = [[0, 1]]}, alignment = 16>",
    ),
    "split between CTAs, before 3.6": (
        BLOCKED.replace("}>", ", CTAsPerCGA = [1, 2], CTASplitNum = [1, 2], CTAOrder = [1, 0]}>"),
        BLOCKED.replace("}>", ", CGALayout = [[0, 1]]}>"),
    ),
    "copies in CTAs, before 3.6": (
        SWIZZLED.replace("}>", ", CTAsPerCGA = [2, 2], CTASplitNum = [2, 1], CTAOrder = [0, 1]}>"),
        SWIZZLED.replace("}>", ", CGALayout = [[1, 0], [0, 0]]}>"),
    ),
    "one CTA, before 3.6": (
        MMA2.replace("}>", ", CTAsPerCGA = [1, 1], CTASplitNum = [1, 1], CTAOrder = [1, 0]}>"),
        MMA2,
    ),
    "warps and tiles of WMMA, before 3.7": (
        "#ttg.amd_wmma<{version = 3, isTranspose = true, warpsPerCTA = [2, 4], tilesPerWarp = [2, 2], instrShape = [16, 16, 128]}>",
        "#ttg.amd_wmma<{version = 3, isTranspose = true, ctaLayout = {register = [[0, 1], [1, 0]], "
        "warp = [[0, 2], [0, 4], [2, 0]]}, instrShape = [16, 16, 128]}>",
    ),
}


@pytest.mark.parametrize("case", OTHER_SPELLINGS)
def test_one_normal_form(case: str):
    given, normal = OTHER_SPELLINGS[case]
    assert attribute(given) == attribute(normal)
    assert text_of(attribute(given)) == normal


@pytest.mark.parametrize(
    "old",
    [
        "#ttg.amd_wmma<{version = 3, isTranspose = true, warpsPerCTA = [2, 2], instrShape = [16, 16, 128]}>",
        "#ttg.amd_wmma<{version = 3, isTranspose = true, warpsPerCTA = [2, 4], tilesPerWarp = [2, 2], instrShape = [16, 16, 128]}>",
        "#ttg.amd_wmma<{version = 2, isTranspose = false, warpsPerCTA = [1, 1]}>",
        "#ttg.amd_wmma<{version = 2, isTranspose = false, warpsPerCTA = [4, 1, 2], CGALayout = [[0, 1, 0]]}>",
    ],
)
def test_wmma_of_3_6(old: str):
    assert text_of(attribute(old), "triton-3.6") == old
    assert "ctaLayout" in text_of(attribute(old), "triton-3.7")
    assert "ctaLayout" in text_of(attribute(old), "tlx")


def test_wmma_that_3_6_cannot_say():
    swizzled = (
        "#ttg.amd_wmma<{version = 2, isTranspose = false, ctaLayout = {warp = [[1, 0], [0, 1]]}}>"
    )
    assert text_of(attribute(swizzled), "triton-3.6") == swizzled


def test_wmma_keeps_a_rank_that_bases_do_not_tell():
    found = attribute(wmma(2, ", rank = 3"))
    assert found.rank == 3
    assert attribute(text_of(found)) == found


# What is refused.

REFUSED = {
    BLOCKED.replace(
        "sizePerThread = [1, 8]", "sizePerThread = [1]"
    ): "sizePerThread, threadsPerWarp, warpsPerCTA, and order must all have the same rank.",
    BLOCKED.replace(
        "order = [1, 0]", "order = [1]"
    ): "sizePerThread, threadsPerWarp, warpsPerCTA, and order must all have the same rank.",
    BLOCKED.replace("[1, 8]", "[1, 3]"): "Every element in sizePerThread must be a power of two.",
    BLOCKED.replace("[4, 8]", "[4, 0]"): "Every element in threadsPerWarp must be a power of two.",
    BLOCKED.replace("[4, 1]", "[3, 1]"): "Every element in warpsPerCTA must be a power of two.",
    BLOCKED.replace(
        "[1, 0]", "[0, 0]"
    ): "order must be a permutation of 0..(rank-1), but was [0, 0]",
    BLOCKED.replace(
        "}>", ", CGALayout = [[1], [1]]}>"
    ): "'CGALayout' entry length does not match rank 2",
    BLOCKED.replace(
        "}>", ", CGALayout = [[1, 0], [1, 0]]}>"
    ): "After removing broadcast bases the CGA encoding must be a permutation matrix",
    BLOCKED.replace(
        "}>", ", CGALayout = [[3, 0]]}>"
    ): "After removing broadcast bases the CGA encoding must be a permutation matrix",
    BLOCKED.replace(
        "}>", ", CGALayout = [[2, 0]]}>"
    ): "After removing broadcast bases the CGA encoding must be a permutation matrix",
    BLOCKED.replace("}>", ", CGALayout = 1}>"): "expected array of arrays for basis of 'CGALayout'",
    BLOCKED.replace(
        "}>", ", CTAsPerCGA = [1, 1]}>"
    ): "'ttg.blocked' needs all or none of CTAsPerCGA, CTASplitNum, CTAOrder",
    BLOCKED.replace(
        "}>", ", CTAsPerCGA = [1], CTASplitNum = [1, 1], CTAOrder = [1, 0]}>"
    ): "CTAsPerCGA, CTASplitNum, and CTAOrder must all have the same rank",
    BLOCKED.replace(
        "}>", ", CTAsPerCGA = [1, 3], CTASplitNum = [1, 1], CTAOrder = [1, 0]}>"
    ): "Every element in CTAsPerCGA must be a power of two",
    BLOCKED.replace(
        "}>", ", CTAsPerCGA = [1, 1], CTASplitNum = [1, 0], CTAOrder = [1, 0]}>"
    ): "Every element in CTASplitNum must be a power of two",
    BLOCKED.replace(
        "}>", ", CTAsPerCGA = [1, 1], CTASplitNum = [1, 1], CTAOrder = [1, 1]}>"
    ): "CTAOrder must be a permutation of 0..(rank-1), but was [1, 1]",
    BLOCKED.replace("}>", ", foo = 1}>"): "unexpected key: foo",
    BLOCKED.replace("}>", ", order = [0, 1]}>"): "duplicate key: order",
    BLOCKED.replace("[1, 8]", "1"): "expected an array for sizePerThread",
    BLOCKED.replace("[1, 8]", "[-1, 8]"): "expected an unsigned integer value in sizePerThread",
    BLOCKED.replace("[1, 8]", "[true, 8]"): "expected an integer type in sizePerThread",
    BLOCKED.replace(", order = [1, 0]", ""): "'ttg.blocked' needs the key 'order'",
    "#ttg.linear<{register = [], lane = [], warp = [], block = []}>": "Empty Layout not supported",
    "#ttg.linear<{register = [[1]], lane = [], warp = []}>": "expected basis of 'block' not found",
    "#ttg.linear<{register = [[1], [3]], lane = [], warp = [], block = []}>": "LinearEncodingAttr requires a permutation matrix layout after removing broadcast bases",
    "#ttg.linear<{register = [[0, 1]], lane = [[0, 1]], warp = [], block = []}>": "LinearEncodingAttr requires a permutation matrix layout after removing broadcast bases",
    "#ttg.linear<{register = [[1, 1], [1, 0]], lane = [], warp = [], block = []}>": "LinearEncodingAttr requires a permutation matrix layout after removing broadcast bases",
    "#ttg.linear<{register = [[0, 1], [0, 4]], lane = [], warp = [], block = []}>": "LinearEncodingAttr requires a permutation matrix layout after removing broadcast bases",
    "#ttg.linear<{register = [[0, 1], [2]], lane = [], warp = [], block = []}>": "basis [2] does not have 2 entries",
    "#ttg.generic_linear<{register = [[1, 1], [0, 1]], lane = [], warp = [], block = []}>": "In a generic linear layout, register, lane, and block bases must move in at most one dimension. Swizzled bases found in 'register'.",
    "#ttg.generic_linear<{register = [[0, 1]], lane = [[1, 2]], warp = [], block = []}>": "In a generic linear layout, register, lane, and block bases must move in at most one dimension. Swizzled bases found in 'lane'.",
    "#ttg.generic_linear<{register = [[0, 1]], lane = [[0, 4]], warp = [[1, 1]], block = []}>": "Generic linear layout must be surjective, i.e. all output values must be covered by some input.",
    "#ttg.slice<{dim = 0, parent = #ttg.shared_memory}>": "expected a distributed encoding trait",
    "#ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>}>": "parent layout must have at least rank >= 2",
    f"#ttg.slice<{{dim = 2, parent = {BLOCKED}}}>": "slice dim=2 must be less than the parent rank=2",
    f"#ttg.dot_op<{{opIdx = 2, parent = {BLOCKED}}}>": "ttg.dot_op opIdx parameter can be 0 or 1, got: 2",
    f"#ttg.dot_op<{{opIdx = 0, parent = {BLOCKED}, kWidth = 2}}>": "ttg.dot_op kWidth parameter is not supported when the parent is a blocked layout",
    f"#ttg.dot_op<{{opIdx = 1, parent = {MMA3}, kWidth = 2}}>": "ttg.dot_op opIdx parameter must be 0 for Hopper MMA parent, since Hopper WGMMA only allows first operand to be in registers",
    f"#ttg.dot_op<{{opIdx = 0, parent = {MMA2}}}>": "ttg.dot_op kWidth parameter is mandatory for Ampere or Hopper MMA parent",
    f"#ttg.dot_op<{{opIdx = 0, parent = {MFMA}}}>": "ttg.dot_op kWidth parameter is mandatory for MFMA parent",
    f"#ttg.dot_op<{{opIdx = 0, parent = {wmma(1)}, kWidth = 4}}>": "ttg.dot_op kWidth parameter must be 8/16 for WMMA v1 (including packed cases for `scaled_dot`)",
    f"#ttg.dot_op<{{opIdx = 0, parent = {wmma(2)}, kWidth = 2}}>": "ttg.dot_op kWidth parameter must be 4/8/16 for WMMA v2 (including packed cases for `scaled_dot`)",
    f"#ttg.dot_op<{{opIdx = 0, parent = {wmma(3, ', instrShape = [16, 16, 32]')}}}>": "ttg.dot_op kWidth parameter is mandatory for WMMA v3 ",
    "#ttg.dot_op<{opIdx = 0, parent = #ttg.shared_memory, kWidth = 1}>": "ttg.dot_op unexpected parent layout: #ttg.shared_memory",
    MMA2.replace(
        "versionMajor = 2", "versionMajor = 1"
    ): "Volta (versionMajor = 1) is deprecated and no longer supported",
    MMA2.replace(
        "versionMajor = 2", "versionMajor = 7"
    ): "versionMajor must be 2 (Ampere) or 3 (Hopper), got 7",
    MFMA.replace("version = 3", "version = 5"): "version must be in the [0, 4] range",
    MFMA.replace("[32, 32, 8]", "[32, 16, 8]"): "invalid (mDim, nDim) combination: (32, 16)",
    MFMA.replace("[32, 32, 8]", "[32]"): "instrShape must have 2 or 3 entries, got (32,)",
    MFMA.replace("true}>", "true, elementBitWidth = 16}>"): "elementBitWidth must be 32 or 64",
    MFMA.replace("isTransposed = true", "isTransposed = 1"): "expected a bool type in isTransposed",
    wmma(4): "WMMA version must be in the [1, 3] range",
    wmma(1, ", instrShape = [16, 16, 32]"): "invalid WMMA v1 instruction shape",
    wmma(2, ", instrShape = [16, 16, 64]"): "invalid WMMA v2 instruction shape",
    wmma(3, ", instrShape = [16, 16, 16]"): "invalid WMMA v3 instruction shape",
    "#ttg.amd_wmma<{version = 2, ctaLayout = {warp = [[0, 1, 0]]}, rank = 2}>": "Serialized rank and rank deduced from LL need to match",
    "#ttg.amd_wmma<{version = 2, ctaLayout = {lane = []}}>": "unexpected key: lane",
    SWIZZLED.replace(
        "[1, 0]", "[1, 1]"
    ): "order must be a permutation of 0..(rank-1), but was [1, 1]",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 96, transposed = false, elementBitWidth = 16}>": "swizzlingByteWidth must be 0, 32, 64, or 128",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 0}>": "elementBitWidth must be non-zero",
    "#ttg.padded_shared<[4:+4, 4:+2] {order = [1, 0], shape = [4, 1]}>": "interval values cannot have duplicates",
    "#ttg.padded_shared<[3:+4] {order = [1, 0], shape = [4, 1]}>": "interval values must all be power of two",
    "#ttg.padded_shared<[4:+3] {order = [1, 0], shape = [4, 1]}>": "padding values must all be power of two",
    "#ttg.padded_shared<[] {order = [1, 0], shape = [4, 1]}>": "must have at least one interval-padding pair",
    "#ttg.padded_shared<[4:+4] {offset = [[1, 0], [1, 0]], block = []}>": "Broadcasting in offset dimension is not supported.",
    "#ttg.padded_shared<[4:+4] {offset = [[1, 1], [1, 0]], block = []}>": "Each offset basis must move in at most one dimension.",
    "#ttg.padded_shared<[4:+4] {offset = [[3, 0], [1, 0]], block = []}>": "Each offset basis must be 0 or a power of two.",
    "#ttg.padded_shared<[4:+4] {offset = [], block = []}>": "linearComponent cannot be empty",
    "#ttg.padded_shared<[4:+4] {offset = [[1, 0]], block = [], order = [1, 0]}>": 'Unexpected attribute "order" found',
    "#ttg.padded_shared<[4:+4] {order = [1, 0], foo = 1}>": 'Unexpected attribute "foo" found',
    "#ttg.padded_shared<[4:+4] {offset = [[1, 0]]}>": "expected basis of 'block' not found",
    "#ttg.padded_shared<[4:+4] {order = [1, 0], shape = [1, 2, 4]}>": "Mismatch of shape and order ranks in padded layout",
    "#ttg.padded_shared<[4:+4] {order = [1, 0], shape = [3, 4]}>": "shape values must all be power of two",
    "#ttg.shared_linear<{offset = [[0, 1]]}, alignment = 3>": "alignment must be a positive power of two",
    "#ttg.shared_linear<{offset = [[0, 1], [0, 4], [1, 0]]}, alignment = 4>": "The layout must be surjective",
    "#ttg.shared_linear<{offset = [[0, 1], [0, 1], [1, 0]]}, alignment = 4>": "After removing the zero bases the layout must be bijective",
    "#ttg.shared_linear<{offset = []}, alignment = 4>": "Empty Layout not supported",
    "#ttg.shared_linear<{offset = [[0, 1]], alignment = 16}>": "alignment must be specified outside of the linear layout braces",
    f"#ttg.partitioned_shared<{{numPartitions = 3, numGroups = 2, partitionDim = 0, partitionLayout = {SWIZZLED}}}>": "numPartitions must be a power of 2 and at least 2",
    f"#ttg.partitioned_shared<{{numPartitions = 1, numGroups = 2, partitionDim = 0, partitionLayout = {SWIZZLED}}}>": "numPartitions must be a power of 2 and at least 2",
    f"#ttg.partitioned_shared<{{numPartitions = 2, numGroups = 0, partitionDim = 0, partitionLayout = {SWIZZLED}}}>": "numGroups must be a power of 2 and greater than 0",
    f"#ttg.partitioned_shared<{{numPartitions = 2, numGroups = 2, partitionDim = 2, partitionLayout = {SWIZZLED}}}>": "partitionDim (2) must be less than the layout rank (2)",
    f"#ttg.partitioned_shared<{{numPartitions = 2, numGroups = 2, partitionDim = 0, partitionLayout = {BLOCKED}}}>": "partitionLayout must be a SharedEncodingTrait",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str):
    assert REFUSED[text] in fault(text)


# What layouts answer.

ANSWERS = {
    BLOCKED: (2, 32, 4, ()),
    f"#ttg.slice<{{dim = 0, parent = {BLOCKED.replace('}>', ', CGALayout = [[1, 0], [0, 1]]}>')}}}>": (
        1,
        32,
        4,
        ((0,), (1,)),
    ),
    f"#ttg.dot_op<{{opIdx = 0, parent = {BLOCKED.replace('}>', ', CGALayout = [[1, 0], [0, 1]]}>')}}}>": (
        2,
        32,
        4,
        ((1, 0), (0, 0)),
    ),
    f"#ttg.dot_op<{{opIdx = 1, parent = {BLOCKED.replace('}>', ', CGALayout = [[1, 0], [0, 1]]}>')}}}>": (
        2,
        32,
        4,
        ((0, 0), (0, 1)),
    ),
    MMA3: (2, 32, 4, ()),
    MFMA: (2, 64, 4, ()),
    "#ttg.amd_wmma<{version = 2, ctaLayout = {warp = [[0, 1, 0], [1, 0, 0]]}}>": (3, 32, 4, ()),
    "#ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [[0, 4]], block = [[2, 0], [0, 2]]}>": (
        2,
        2,
        2,
        ((1, 0), (0, 1)),
    ),
    LINEAR: (2, 32, 2, ()),
}


@pytest.mark.parametrize("text", ANSWERS)
def test_distributed_layouts_answer(text: str):
    layout = attribute(text)
    assert isinstance(layout, ttg.DistributedEncoding)
    found = (layout.rank, layout.threads_per_warp, layout.num_warps, layout.cga)
    assert found == ANSWERS[text]
    assert layout.num_ctas == 2 ** len(ANSWERS[text][3])


SHARED_ANSWERS = {
    SWIZZLED: (2, 16, (1, 0)),
    "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>": (
        2,
        1024,
        (1, 0),
    ),
    "#ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = true, elementBitWidth = 16, rank = 3}>": (
        3,
        256,
        (0, 1, 2),
    ),
    "#ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>": (
        2,
        128,
        (1, 0),
    ),
    "#ttg.padded_shared<[4:+4] {order = [0, 1], shape = [4, 8]}>": (2, 16, (0, 1)),
    "#ttg.shared_linear<{offset = [[0, 1, 0], [0, 2, 0], [1, 0, 0]]}, alignment = 64>": (
        3,
        64,
        (1, 0, 2),
    ),
}


@pytest.mark.parametrize("text", SHARED_ANSWERS)
def test_shared_layouts_answer(text: str):
    layout = attribute(text)
    assert isinstance(layout, ttg.SharedEncoding)
    assert (layout.rank, layout.alignment, layout.order) == SHARED_ANSWERS[text]


def test_partitioned_layout_answers_for_its_pieces():
    inner = SWIZZLED.replace("}>", ", CGALayout = [[1, 0]]}>")
    layout = attribute(
        f"#ttg.partitioned_shared<{{numPartitions = 2, numGroups = 2, partitionDim = 0, partitionLayout = {inner}}}>"
    )
    assert (layout.rank, layout.alignment, layout.cga) == (2, 16, ((1, 0),))


def test_shape_of_a_shared_linear_layout():
    layout = attribute(
        "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0]], block = [[2, 0]]}, alignment = 16>"
    )
    assert layout.shape == (4, 4)
    assert layout.cga == ((1, 0),)


def test_a_layout_is_a_value():
    one = ttg.BlockedEncoding(
        size_per_thread=(1, 8), threads=(4, 8), warps_per_cta=(4, 1), order=(1, 0)
    )
    assert one == attribute(BLOCKED)
    assert len({one, attribute(BLOCKED)}) == 1
    with pytest.raises(AttributeError):
        one.order = (0, 1)


def test_regular_tiles():
    tiles = CtaTiles.regular((2, 4), (2, 1))
    assert tiles == CtaTiles(((1, 0),), ((0, 1), (0, 2), (2, 0)))


# What shape ops make of a layout.


def test_reduction_leaves_a_slice():
    assert attribute(BLOCKED).after_reduce(1) == attribute(
        f"#ttg.slice<{{dim = 1, parent = {BLOCKED}}}>"
    )


def test_expansion_undoes_a_slice():
    assert attribute(f"#ttg.slice<{{dim = 1, parent = {BLOCKED}}}>").after_expand_dims(
        1
    ) == attribute(BLOCKED)


def test_transposition():
    turned = attribute(BLOCKED.replace("}>", ", CGALayout = [[0, 1]]}>")).after_trans(
        (8, 8), (1, 0)
    )
    assert text_of(turned) == (
        "#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1], CGALayout = [[1, 0]]}>"
    )
    assert turned.after_trans((8, 8), (1, 0)) == attribute(
        BLOCKED.replace("}>", ", CGALayout = [[0, 1]]}>")
    )
    assert text_of(attribute(LINEAR).after_trans((8, 8), (1, 0))).startswith(
        "#ttg.linear<{register = [[1, 0]]"
    )


def test_transposition_of_three_dimensions():
    layout = attribute(
        "#ttg.blocked<{sizePerThread = [1, 2, 4], threadsPerWarp = [8, 2, 2], warpsPerCTA = [4, 1, 2], order = [2, 0, 1]}>"
    )
    assert text_of(layout.after_trans((8, 8, 8), (1, 2, 0))) == (
        "#ttg.blocked<{sizePerThread = [2, 4, 1], threadsPerWarp = [2, 2, 8], warpsPerCTA = [1, 2, 4], order = [1, 2, 0]}>"
    )


def test_split():
    layout = attribute(
        "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>"
    )
    assert text_of(layout.after_split((128, 2))) == (
        "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    )
    assert attribute(BLOCKED).after_split((128, 2)) is None


def test_transposed_shared_layouts():
    assert attribute(SWIZZLED).after_trans((8, 8), (1, 0)) == attribute(
        SWIZZLED.replace("[1, 0]", "[0, 1]")
    )
    nvmma = attribute(
        "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>"
    )
    assert nvmma.after_trans((8, 32), (1, 0)).transposed
    assert nvmma.after_trans((8, 32), (0, 1)) is None


def test_layouts_that_cannot_be_equivalent():
    one = attribute(BLOCKED)
    assert one.is_equivalent(attribute(BLOCKED.replace("[1, 8]", "[1, 4]")), (64, 64))
    assert not one.is_equivalent(attribute(BLOCKED.replace("[4, 1]", "[8, 1]")), (64, 64))
    assert not one.is_equivalent(attribute(SWIZZLED), (64, 64))


DOT = {
    "fits": (MMA2, 0, 1, MMA2, 2, 2, None),
    "swapped": (MMA2, 1, 0, MMA2, 2, 2, "Wrong opIdx"),
    "another parent": (MFMA, 0, 1, MMA2, 2, 2, "Incompatible parent encoding"),
    "different widths": (MMA2, 0, 1, MMA2, 2, 4, "mismatching kWidth between A and B operands"),
}


@pytest.mark.parametrize("case", DOT)
def test_layouts_of_a_product(case: str):
    result, first, second, parent, width_a, width_b, expected = DOT[case]
    a = attribute(f"#ttg.dot_op<{{opIdx = {first}, parent = {parent}, kWidth = {width_a}}}>")
    b = attribute(f"#ttg.dot_op<{{opIdx = {second}, parent = {parent}, kWidth = {width_b}}}>")
    assert attribute(result).dot_problem(a, b) == expected


def test_layouts_of_a_product_on_hopper():
    shared = attribute(
        "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>"
    )
    registers = attribute(f"#ttg.dot_op<{{opIdx = 0, parent = {MMA3}, kWidth = 2}}>")
    assert attribute(MMA3).dot_problem(shared, shared) is None
    assert attribute(MMA3).dot_problem(attribute(BLOCKED), shared) == (
        "unexpected operand layout for NvidiaMmaEncodingAttr v3"
    )
    assert (
        attribute(MMA3).dot_problem(registers, shared)
        == "mismatching encoding between A and B operands"
    )
    assert attribute(MMA2).dot_problem(shared, shared) == (
        "Dot's a/b's encoding should be of DotOperandEncodingAttr"
    )


def test_wmma_operands_may_share_the_tensor_differently():
    result = wmma(2, ", CGALayout = [[1, 0]]")
    operands = [
        attribute(f"#ttg.dot_op<{{opIdx = {index}, parent = {wmma(2)}, kWidth = 8}}>")
        for index in (0, 1)
    ]
    assert attribute(result).dot_problem(*operands) is None


# Aliases.


def test_aliases():
    texts = {
        "blocked": BLOCKED,
        "linear": LINEAR,
        "generic_linear": LINEAR.replace("ttg.linear", "ttg.generic_linear"),
        "mma": MMA3,
        "shared": SWIZZLED,
        "smem": "#ttg.shared_memory",
    }
    for alias, text in texts.items():
        module = parse(f"module attributes {{tt.x = {text}}} {{\n}}\n")
        assert print_module(module).splitlines() == [
            f"#{alias} = {text}",
            f"module attributes {{tt.x = #{alias}}} {{",
            "}",
        ]


@pytest.mark.parametrize("layout", [MMA2, MFMA, wmma(2)])
def test_slices_and_operands_have_no_alias(layout: str):
    slice = f"#ttg.slice<{{dim = 0, parent = {layout}}}>"
    text = print_module(parse(f"module attributes {{tt.x = {slice}}} {{\n}}\n"))
    assert "tt.x = #ttg.slice<{dim = 0, parent = #mma}>" in text


def test_shared_layouts_share_a_family():
    text = print_module(
        parse(
            module_text(
                "ttg.local_dealloc %n : !ttg.memdesc<32x32xf32, #s2, #smem, mutable>\n"
                "ttg.local_dealloc %padded : !ttg.memdesc<32x32xf32, #pad, #smem, mutable>"
            )
        )
    )
    assert "#shared = #ttg.swizzled_shared" in text
    assert "#shared1 = #ttg.padded_shared" in text
