"""A `T` kernel on Tenstorrent: compiled on first use, run on a model of the hardware.

Arrays of the caller are padded, tilized and written to the model's DRAM; results are read back and
cropped. The run checks what hardware does not: circular buffers, DST, barriers, init calls; a
finding is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.runtime.arrays import HostArray
from tilewright.runtime.tile.pass_configs import PassConfigKey

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline
    from tilewright.runtime.tile.kernel import CompiledTileKernel
    from tilewright.targets.tenstorrent.artefact import Artefact
    from tilewright.targets.tenstorrent.execution import RunResult


class TenstorrentKernel:
    """The Tenstorrent side of a kernel."""

    def __init__(self, kernel: CompiledTileKernel, target: str, configs: Mapping[str, Any]) -> None:
        self._kernel = kernel
        self.target = target
        self._configs = configs
        self.result: RunResult | None = None
        """What the last run counted."""

    @property
    def pipeline(self) -> TenstorrentPipeline:
        """The passes, with the user's settings."""
        from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline

        key, given = PassConfigKey, self._configs
        return TenstorrentPipeline(
            target=self.target,
            cores=str(given.get(key.TT_CORE_GRID) or ""),
            policy=str(given.get(key.TT_SCHEDULE_POLICY) or "contiguous"),
            order=str(given.get(key.TT_SCHEDULE_ORDER) or "row_major"),
            l1_budget=int(given.get(key.TT_L1_BUDGET) or 0),
        )

    def lowered(self, engine: DiagnosticEngine) -> ModuleOp:
        """The kernels of a core and the plan of the host."""
        module = self._kernel.prim_func.module.clone()
        self.pipeline.run(module, engine)
        engine.raise_if_errors()
        return module

    @cached_property
    def artefact(self) -> Artefact:
        """Kernels, plan and sources; compiled once."""
        from tilewright.targets.tenstorrent.artefact import artefact_of

        return artefact_of(self.lowered(DiagnosticEngine()))

    def launch(self, values: Sequence[Any]) -> None:
        """Run with one value for each parameter; arrays are `HostArray`s."""
        arrays = {
            tensor.name: values[tensor.arg].array
            for tensor in self.artefact.plan.tensors
            if isinstance(values[tensor.arg], HostArray)
        }
        run = self.artefact.run(arrays)
        self.result = run.result
        for tensor in self.artefact.plan.tensors:
            if tensor.role != "input":
                arrays[tensor.name][...] = run.arrays[tensor.name]
        for value in values:
            if isinstance(value, HostArray) and value.finish is not None:
                value.finish()
