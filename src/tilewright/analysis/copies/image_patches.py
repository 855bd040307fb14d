"""Patches of an image (`tile.im2col`) that TMA copies as one box.

A tile of patches has one row for each output position and one column for each channel of a window
tap. It is a box of the image if

* all columns belong to one tap: the channels are a multiple of the tile's columns;
* the window moves by one position (stride 1), so neighbouring rows read neighbouring pixels;
* the rows are part of one output line, or whole lines of one image, or whole images::

      lines of OW positions, tiles of R rows:    R divides OW          box 1 x 1      x R  x C
                                                 OW divides R          box 1 x R / OW x OW x C
                                                 OH * OW divides R     box images x OH x OW x C

The dimensions of the box before the channels are then the rows of the tile, in row-major order.
Pixels in the padding are outside of the tensor, where TMA reads zeros. The tap only moves the
start of the box.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX

from tilewright.analysis.copies.copy_instructions import BULK_CONDITIONS, BulkCopy, Starts
from tilewright.analysis.tensors.outside_values import tensor_of
from tilewright.dialects.tile import Im2colOp, Space, space_of
from tilewright.dialects.type_utils import shape_of


@dataclass(frozen=True)
class Patches:
    """The sizes of a `tile.im2col`."""

    op: Im2colOp
    height: int
    """Output positions along the height of an image."""
    width: int
    rows: int
    """Rows of the tile."""
    columns: int
    channels: int

    @classmethod
    def of(cls, op: Im2colOp) -> Patches | None:
        """None where a size is a run-time value."""
        _, height, width, channels = shape_of(op.src.type)
        rows, columns = shape_of(op.dst.type)[-2:]
        if DYNAMIC_INDEX in (height, width, channels, rows, columns):
            return None
        reach = op.dilation.value.data * (op.kernel.value.data - 1) + 1
        down, across = (
            (size + 2 * op.pad.value.data - reach) // op.stride.value.data + 1
            for size in (height, width)
        )
        return cls(op, down, across, rows, columns, channels)

    @property
    def box(self) -> tuple[int, int, int, int] | None:
        """The extents of the tile as a box of the image; None if it is not one."""
        if self.channels % self.columns or self.op.stride.value.data != 1:
            return None
        if self.width % self.rows == 0:
            return 1, 1, self.rows, self.columns
        lines = self.rows // self.width
        if self.rows % self.width == 0 and self.height % lines == 0:
            return 1, lines, self.width, self.columns
        if self.rows % (self.width * self.height) == 0:
            return lines // self.height, self.height, self.width, self.columns
        return None


def bulk_patches(op: Im2colOp, starts: Starts) -> BulkCopy | str:
    """`op` as a bulk copy into shared memory, or why it cannot be one."""
    target = space_of(op.dst.type)
    if target is None or not target.is_shared or space_of(op.src.type) is not Space.GLOBAL:
        return "it does not copy global memory to shared memory"
    patches = Patches.of(op)
    if patches is None:
        return "a size of the image or of the tile is a run-time value"
    box = patches.box
    if box is None:
        return _why_no_box(patches)
    taps = op.kernel.value.data**2 * (patches.channels // patches.columns)
    if not (starts.is_below(op.c_step, taps, op) and starts.is_nonneg(op.c_step, op)):
        return f"the tile is not known to be one of the {taps} of the window"
    # The first channel is a multiple of the columns of the tile, as is 0.
    copy = BulkCopy(op, tensor_of(op.src), box, (0,) * len(box), starts)
    for condition in BULK_CONDITIONS:
        problem = condition(copy)
        if problem is not None:
            return problem
    return copy


def _why_no_box(patches: Patches) -> str:
    if patches.op.stride.value.data != 1:
        return f"the window moves by {patches.op.stride.value.data} positions, not by 1"
    if patches.channels % patches.columns:
        return (
            f"{patches.columns} columns of the tile are not part of the {patches.channels} "
            "channels of one window position"
        )
    return (
        f"{patches.rows} rows of the tile are neither part of a line of {patches.width} output "
        f"positions nor whole lines of an image of {patches.height}"
    )


__all__ = ["Patches", "bulk_patches"]
