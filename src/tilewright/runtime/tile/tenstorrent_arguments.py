"""Checks of the arrays of a call before a run on Tenstorrent.

Every tensor gets pages of its own in the DRAM of the model, and results are copied back afterwards:
arrays that share bytes would be computed as if they did not, and an array that cannot be written
would be noticed only after the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import Attribute

from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.targets.numpy.api import NumpyFault
from tilewright.targets.numpy.tile.api import CODES
from tilewright.targets.numpy.tile.arguments import share
from tilewright.targets.tenstorrent.artefact import Artefact


def check_arguments(
    artefact: Artefact, arrays: Mapping[str, Any], location: Attribute | None
) -> None:
    """Refuse arrays that are written and cannot be, or that share bytes with another.

    Raises:
        NumpyFault: with the names of the tensors.
    """
    written = [
        each.name for each in artefact.plan.tensors if each.role != "input" and each.name in arrays
    ]
    for name in written:
        if not arrays[name].flags.writeable:
            message = f"write to read-only buffer {name}: pass an array that can be written"
            raise NumpyFault(Diagnostic(Severity.ERROR, message, location, CODES["read-only"]))
        for other, array in arrays.items():
            if other != name and share(arrays[name], array):
                message = (
                    f"arguments overlap: {name} and {other} share bytes, and the kernel writes "
                    f"{name}: pass a copy of {other}, or use one parameter that the kernel reads "
                    "and writes"
                )
                raise NumpyFault(Diagnostic(Severity.ERROR, message, location, CODES["overlap"]))
