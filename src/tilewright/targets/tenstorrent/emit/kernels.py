"""One kernel as a source file: includes, constants, ``kernel_main``."""

from __future__ import annotations

from tilewright.dialects.tensix.program import KernelOp
from tilewright.targets.tenstorrent.emit import compute, dataflow, integers
from tilewright.targets.tenstorrent.emit.emitter import Api, TensixEmitter

_COMMON = {**integers.RULES, **dataflow.CIRCULAR_BUFFERS}
_DATA_MOVEMENT = {**_COMMON, **dataflow.RULES}
_COMPUTE = {**_COMMON, **compute.RULES}


def emit_kernel(kernel: KernelOp, *, api: Api = Api.CURRENT, comments: bool = True) -> str:
    """The text of one kernel.

    Raises:
        CannotEmit: for an op that kernels of this role have no text for.
    """
    moves_data = kernel.role.moves_data
    rules = _DATA_MOVEMENT if moves_data else _COMPUTE
    emitter = TensixEmitter(rules, api=api, comments=comments)
    emitter.body(kernel.body.block)
    headers = ["api/dataflow/dataflow_api.h"] if moves_data else _compute_headers(emitter)
    parts = [
        "#include <cstdint>\n",
        *(f'#include "{header}"' for header in headers),
        "",
        *(f"{table}\n" for table in emitter.tables),
        "void kernel_main() {",
        *emitter.lines,
        "}",
    ]
    return "\n".join(parts) + "\n"


def _compute_headers(emitter: TensixEmitter) -> list[str]:
    found = emitter.headers or {"common.h": None}
    return [f"api/compute/{header}" for header in sorted(found)]
