"""A studio page about a checked run, be it of a script or of a cell of a notebook."""

from __future__ import annotations

from tilewright._version import __version__
from tilewright.analysis.ordering.timeline import Timeline
from tilewright.cli.studio_kernels import pointer_kernel, raised_or_reason, tile_kernels
from tilewright.cli.studio_run import CheckedRun, addresses, findings, tuning
from tilewright.report.studio.document import Document, Kernel, Sources
from tilewright.runtime.tile.kernel import CompiledTileKernel


def document_of(
    checked: CheckedRun, target: str | None, sources: Sources, title: str, command: str
) -> Document:
    """What was reported, and all kernels that were launched, compiled for `target`."""
    absent: dict[str, str] = {}
    reported = findings(checked, sources)
    kernels = _kernels(checked, target, sources)
    documents, notes = addresses(checked)
    if notes:
        absent["addresses"] = "; ".join(notes)
    return Document(
        title,
        command,
        __version__,
        sources,
        checked.verdict,
        checked.has_failed,
        reported,
        _timeline(checked),
        kernels,
        documents,
        tuning(),
        absent,
    )


def _timeline(checked: CheckedRun) -> Timeline | None:
    timeline = checked.orders.timeline
    return timeline if timeline is not None and timeline.length else None


def _kernels(checked: CheckedRun, target: str | None, sources: Sources) -> list[Kernel]:
    """All kernels that were launched: on tiles where possible, else on pointers."""
    tiles = list(checked.tiles.values())
    refused: list[Kernel] = []
    for each in checked.pointers.values():
        raised = raised_or_reason(each)
        if isinstance(raised, CompiledTileKernel):
            tiles.append(raised)
        else:
            refused.append(pointer_kernel(each, raised, sources))
    return [*tile_kernels(tiles, target, sources), *refused]
