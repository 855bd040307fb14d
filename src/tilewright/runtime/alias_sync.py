"""``TILEWRIGHT_CHECK_ALIAS_SYNC=1``: what is traced is checked for accesses that nothing orders.

The pass is `tlx-check-alias-sync`. Its diagnostics go to standard error as warnings and remarks; no
kernel is prevented from being compiled or run. It sees what is traced: machine code that is found
on disk needs no tracing, and is not checked again.
"""

from __future__ import annotations

import os
import sys

from xdsl.dialects.builtin import ModuleOp

VARIABLE = "TILEWRIGHT_CHECK_ALIAS_SYNC"


def is_enabled() -> bool:
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def report_alias_sync(module: ModuleOp) -> None:
    """Check a module, which stays as it is, and write down what is found."""
    # Imported here: without the check, the model of asynchronous units and barriers is not needed.
    from tilewright.ir.diagnostics import DiagnosticEngine, pretty_all
    from tilewright.passes.tlx.check_alias_sync import CheckAliasSync

    engine = DiagnosticEngine()
    CheckAliasSync().run(module, engine)
    if engine.diagnostics:
        sys.stderr.write(pretty_all(engine.diagnostics, engine.sources) + "\n")
