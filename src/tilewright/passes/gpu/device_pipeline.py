"""What the pipelines of all GPUs have in common: passes that a user disabled, the first error.

A pipeline is a frozen dataclass of options; its list of passes follows from them.
"""

from __future__ import annotations

from abc import abstractmethod

from xdsl.dialects.builtin import ModuleOp

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.passes.gpu.insert_thread_syncs import InsertThreadSyncs


class DevicePipeline(Pass):
    """All passes from a traced kernel to device functions."""

    leave_out: tuple[str, ...]

    @abstractmethod
    def all_passes(self) -> list[Pass]:
        """The passes for these options, in order, disabled ones among them."""

    def passes(self) -> list[Pass]:
        """The passes, in order."""
        left_out = {*self.leave_out}
        if InsertThreadSyncs.name in left_out:
            left_out.add(CheckThreadSync.name)  # the user is responsible for what is missing
        return [each for each in self.all_passes() if each.name not in left_out]

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for each in self.passes():
            before = engine.error_count
            each.run(module, engine)
            if engine.error_count > before:
                return
