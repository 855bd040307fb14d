"""Record what the host pads, so that kernels only see whole tiles.

    %C: 100x70   ->   tt.pad = [{padded = [128, 96], amount = [28, 26], value = 0}]

The host pads on upload and crops on download. The value is 0: reads outside a tensor give 0, so
padding never changes a result; where a reduction covers a partly filled tile, `tensorize-tt` masks
the rest of the tile with the neutral element of the reduction.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tensix.json_attr import Json
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.tenstorrent.annotations import functions, put
from tilewright.passes.tenstorrent.infer_tt_shards import layouts_of
from tilewright.passes.tenstorrent.tensor_layouts import NONE, TensorLayout

PAD = "tt.pad"


@dataclass(frozen=True)
class PadToTiles(Pass):
    """Pad the last two dimensions of every arrangement to whole tiles."""

    name = "pad-to-tiles"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            layouts = layouts_of(function)
            arguments = function.body.block.args
            put(
                function,
                PAD,
                [_padding(layouts[each]) if each in layouts else {} for each in arguments],
            )


def _padding(layout: TensorLayout) -> Json:
    rows, columns = layout.padded[-2:]
    real = [1 if dim == NONE else layout.shape[dim] for dim in (layout.row_dim, layout.column_dim)]
    return {
        "padded": [rows, columns],
        "amount": [rows - real[0], columns - real[1]],
        "value": 0,
    }
