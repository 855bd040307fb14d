"""Views of an aliased region in the form that every release of stock Triton takes.

Two of its rules differ from ours and from release to release::

    3.8   a view covers all of what it views, to the byte
    3.9   scale factors have two dimensions, so there is no array of them

An array of buffers is therefore made as long as fits into the region; indices stay what they
are. A buffer of scales is first taken as columns of 32 bits, of which there may be arrays, and seen
as scales when one of them has been chosen::

    %all = reinterpret %region : <128x512xi32> -> <128x128x4xi32>
    %one = index %all[%i]      :               -> <128x4xi32>
    %s   = reinterpret %one    :               -> <128x4xi8, #scales>
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.dialects.ttg.context import PARTITIONS_OP
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import MemDescIndexOp, MemDescReinterpretOp
from tilewright.dialects.ttng.attributes import TensorMemoryScalesEncoding
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.memory.targets import TMEM_COLUMN_BITS
from tilewright.passes.tlx.storage_alias.buffers import rows_of, span_bits
from tilewright.passes.tlx.storage_alias.materialise import tensor_memory_type

_ARRAY_OF_TILES = 3


def make_views_whole(module: ModuleOp) -> None:
    """Rewrite the views of `module`, in place."""
    rewriter = Rewriter()
    for view in [op for op in walk(module) if isinstance(op, MemDescReinterpretOp)]:
        if _is_array(view):
            _make_whole(view, rewriter)


def _is_array(view: MemDescReinterpretOp) -> bool:
    _, result = view.types
    if isinstance(result.encoding, TensorMemoryScalesEncoding):
        return result.rank == _ARRAY_OF_TILES
    return result.is_pipelined and result.rank == result.layout_rank + 1


def _make_whole(view: MemDescReinterpretOp, rewriter: Rewriter) -> None:
    source, result = view.types
    region, slot = span_bits(source), span_bits(result) // result.shape[0]
    is_scales = isinstance(result.encoding, TensorMemoryScalesEncoding)
    count, rest = divmod(region, slot)
    if rest or count < result.shape[0]:
        return  # not a whole number of buffers: left to Triton's verifier
    uses = list(_uses(view.result))
    if None in uses:
        return  # not only indexed
    if is_scales:
        tile = tensor_memory_type(rows_of(source), slot // TMEM_COLUMN_BITS)
    else:
        tile = _with_shape(result, result.shape[1:])
    _retype(view.result, _with_shape(tile, (count, *tile.shape)), rewriter)
    for use in uses:
        if is_scales and use is not None:
            _see_as_scales(use, tile, rewriter)


def _with_shape(type: MemDescType, shape: tuple[int, ...]) -> MemDescType:
    return MemDescType(shape, type.element_type, type.encoding, type.memory_space, type.mutable)


def _uses(value: SSAValue) -> Iterator[MemDescIndexOp | None]:
    """Where one of the buffers is chosen; None for any other use."""
    for use in value.uses:
        op = use.operation
        if op.name == PARTITIONS_OP:
            for region in op.regions:
                yield from _uses(region.blocks[0].args[use.index])
        else:
            yield op if isinstance(op, MemDescIndexOp) else None


def _retype(value: SSAValue, type: MemDescType, rewriter: Rewriter) -> None:
    """Give `value` another type, and with it what partitions see of it."""
    for use in list(rewriter.retype(value, type).uses):
        if use.operation.name == PARTITIONS_OP:
            for region in use.operation.regions:
                _retype(region.blocks[0].args[use.index], type, rewriter)


def _see_as_scales(chosen: MemDescIndexOp, tile: MemDescType, rewriter: Rewriter) -> None:
    required = chosen.types[1]
    columns = MemDescIndexOp(chosen.src, chosen.index, tile)
    rewriter.replace_op(chosen, [columns, MemDescReinterpretOp(columns.result, required)])
