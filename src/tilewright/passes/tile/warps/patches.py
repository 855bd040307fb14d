"""The box of an image that holds the patches of a tile (`analysis.image_patches`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tilewright.analysis.copies.image_patches import Patches
from tilewright.dialects.arith import AddiOp, MuliOp
from tilewright.dialects.tile import Im2colOp, RegionOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.passes.tile.index_builder import IndexBuilder


def patch_region(
    op: Im2colOp, image: SSAValue, steps: Sequence[SSAValue], code: IndexBuilder
) -> SSAValue:
    """The region of `image` for the output positions and window elements at `steps`."""
    patches = Patches.of(op)
    assert patches is not None and patches.box is not None  # planned so
    window, dilation, pad = (each.value.data for each in (op.kernel, op.dilation, op.pad))
    pixel = _times(code, steps[0], patches.rows)
    line = code.divided(pixel, patches.width)
    element = _times(code, steps[1], patches.columns)
    tap = code.divided(element, patches.channels)
    offsets = [
        code.divided(line, patches.height),
        _moved(code, code.modulo(line, patches.height), code.divided(tap, window), dilation, pad),
        _moved(code, code.modulo(pixel, patches.width), code.modulo(tap, window), dilation, pad),
        code.modulo(element, patches.channels),
    ]
    return code.add(RegionOp(image, [code.index(each) for each in offsets], patches.box)).results[0]


def _times(code: IndexBuilder, value: SSAValue, factor: int) -> SSAValue:
    return code.add(MuliOp(value, code.index(factor))).results[0]


def _moved(code: IndexBuilder, start: Mixed, tap: Mixed, dilation: int, pad: int) -> Mixed:
    """The position of a window tap along one dimension; negative in the padding."""
    at = _times(code, code.index(tap), dilation)
    return code.plus(code.add(AddiOp(code.index(start), at)).results[0], -pad)
