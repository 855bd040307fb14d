"""Arrays of scale factors in tensor memory, which stock Triton does not have.

Such an array becomes an allocation of plain columns with a view of it as the array; what stands
for aliased arrays (``whole_views``) then serves for this one, too.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import MemDescReinterpretOp
from tilewright.dialects.ttng import TMEMAllocOp
from tilewright.dialects.ttng.attributes import TensorMemoryScalesEncoding
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.memory.targets import TMEM_COLUMN_BITS
from tilewright.passes.tlx.storage_alias.buffers import rows_of, span_bits
from tilewright.passes.tlx.storage_alias.materialise import tensor_memory_type


def view_scale_arrays(module: ModuleOp, rewriter: Rewriter) -> None:
    """Let every array of scale factors be a view of columns."""
    for op in [op for op in walk(module) if isinstance(op, TMEMAllocOp) and op.src is None]:
        type = op.result.type
        assert isinstance(type, MemDescType)
        layout = type.encoding
        if not isinstance(layout, TensorMemoryScalesEncoding) or type.rank == layout.rank:
            continue
        columns = TMEMAllocOp(
            tensor_memory_type(rows_of(type), span_bits(type) // TMEM_COLUMN_BITS)
        )
        rewriter.replace_op(op, [columns, MemDescReinterpretOp(columns.result, type)])
