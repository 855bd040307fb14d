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
    older = api is Api.OLDER
    if moves_data:
        headers = ["dataflow_api.h" if older else "api/dataflow/dataflow_api.h"]
    else:
        headers = _older_headers(emitter) if older else _compute_headers(emitter)
    opening, closing = ("void kernel_main() {", "}")
    if older and not moves_data:
        opening, closing = ("namespace NAMESPACE {\nvoid MAIN {", "}\n}  // namespace NAMESPACE")
    parts = [
        "#include <cstdint>\n",
        *(f'#include "{header}"' for header in headers),
        "",
        *(f"{table}\n" for table in emitter.tables),
        opening,
        *emitter.lines,
        closing,
    ]
    return "\n".join(parts) + "\n"


def _compute_headers(emitter: TensixEmitter) -> list[str]:
    found = emitter.headers or {"common.h": None}
    return [f"api/compute/{header}" for header in sorted(found)]


_IN_COMMON = ("pack.h", "reg_api.h", "reconfig_data_format.h", "compute_kernel_hw_startup.h")
"""Headers that are part of ``common.h`` at the older level."""


def _older_headers(emitter: TensixEmitter) -> list[str]:
    found = {"compute_kernel_api/common.h"}
    for header in emitter.headers:
        if header == "compute_kernel_api.h":
            found.add(header)
        elif header not in _IN_COMMON:
            name = "transpose_wh.h" if header == "transpose.h" else header
            found.add(f"compute_kernel_api/{name}")
    return sorted(found)
