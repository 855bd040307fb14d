"""How many bytes shared buffers take, where they may begin, and how many there are."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr

from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.type_utils import bit_width, num_elements
from tilewright.memory.targets import target_named
from tilewright.memory.units import element_bytes
from tilewright.passes.gpu.arch import arch_name

_BARRIER_BYTES = 8
_DEFAULT_ALIGN = 16


def bytes_of(op: AllocOp) -> int:
    """Bytes of a shared buffer, or of barriers."""
    if op.space.is_barrier:
        return num_elements(op.result.type) * _BARRIER_BYTES
    return num_elements(op.result.type) * element_bytes(bit_width(op.result.type))


def alignment_of(op: AllocOp) -> int:
    """The multiple of bytes at which a shared buffer, or barriers, must begin."""
    if op.space.is_barrier:
        return _BARRIER_BYTES
    found = op.attributes.get(simt_names.ALIGN)
    return found.value.data if isinstance(found, IntegerAttr) else _DEFAULT_ALIGN


def versions_of(op: AllocOp) -> int:
    """The number of pipeline stages of a buffer."""
    found = op.attributes.get(simt_names.VERSIONS)
    return found.value.data if isinstance(found, IntegerAttr) else 1


def limit_of(function: FuncOp) -> int:
    """Bytes of shared memory that a block may have on the function's target."""
    return target_named(arch_name(function)).smem_bytes
