"""What a checked cell of a notebook gives: findings, and the studio page of its kernels."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from typing_extensions import override

from tilewright._notebook import NotebookForm
from tilewright.analysis.ordering.timeline import Timeline
from tilewright.ir.diagnostics import Diagnostic, pretty_all
from tilewright.report.notebook import html
from tilewright.report.notebook.cells import named, named_page
from tilewright.report.notebook.errors import accesses_html, message_html
from tilewright.report.notebook.memory import maps_html
from tilewright.report.task_timeline import timeline_html
from tilewright.runtime.memory_maps.kernels import KernelMemory

_FRAME = (
    '<iframe title="{title}" srcdoc="{page}" style="width: 100%; height: {height}px; border: 0" '
    'sandbox="allow-scripts"></iframe>'
)


@dataclass(frozen=True)
class CellCheck(NotebookForm):
    """What was reported while a cell ran with all checks."""

    notebook_form = "tilewright.report.notebook.checks:cell_check_html"

    verdict: str
    has_failed: bool
    errors: tuple[BaseException, ...] = ()
    """The fault that ended a launch, and errors of kernels that do not compile."""
    reports: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    not_analysed: tuple[str, ...] = ()
    memory: tuple[KernelMemory, ...] = ()
    """Of the kernels with a fault: which buffers share bytes."""
    timeline: Timeline | None = None

    @override
    def __str__(self) -> str:
        found = pretty_all((*self.reports, *self.warnings))
        skipped = [f"not analysed: {text}" for text in self.not_analysed]
        texts = (*map(str, self.errors), found, *skipped, f"check: {self.verdict}")
        return named("\n".join(text for text in texts if text))


def cell_check_html(check: CellCheck) -> str:
    """Findings first, and what helps to understand them."""
    severity = "error" if check.has_failed else "mark"
    parts = [
        f'<div><span class="{severity}">check:</span> {escape(check.verdict)}</div>',
    ]
    for error in check.errors:
        parts += [message_html(str(error)), *accesses_html(error)]
    diagnostics = (*check.reports, *check.warnings)
    if diagnostics:
        parts.append(message_html(pretty_all(diagnostics)))
    parts += [html.paragraph(f"not analysed: {text}") for text in check.not_analysed]
    for memory in check.memory:
        inside = "".join(maps_html(memory.maps))
        parts.append(html.details(f"memory of {memory.kernel}, {memory.note}", inside))
    if check.timeline is not None:
        drawn = escape(named_page(timeline_html(check.timeline)))
        page = _FRAME.format(title="timeline", page=drawn, height=480)
        parts.append(html.details(f"timeline: {check.timeline.title}", page, is_open=True))
    return html.block(*parts)


@dataclass(frozen=True)
class StudioPage(NotebookForm):
    """The page of ``tilewright studio`` about the kernels of a cell."""

    notebook_form = "tilewright.report.notebook.checks:studio_page_html"

    verdict: str
    page: str
    height: int = 760

    @override
    def __str__(self) -> str:
        return f"studio: {self.verdict}"


def studio_page_html(studio: StudioPage) -> str:
    """The page in a frame: it needs no network, and changes nothing outside of its frame."""
    return _FRAME.format(title="studio", page=escape(studio.page), height=studio.height)
