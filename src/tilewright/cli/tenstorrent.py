"""What `run` and `check` do for a Tenstorrent target: options of the run, and its report."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.cli.command_line import CommandLine, UsageError
from tilewright.cli.outputs import write_whole
from tilewright.cli.thread_target import HIP, TARGET, has_threads
from tilewright.ir.passes import closest

if TYPE_CHECKING:
    from tilewright.targets.tenstorrent.artefact import Artefact
    from tilewright.targets.tenstorrent.execution import RunResult

SET = "set"
FLAGS = (TARGET, "executor", "numerics", "report", SET)
_INTEGERS = ("tt.l1_budget", "tt.stages")
_KIND = "tenstorrent"
_HTML = (".html", ".htm")
_REPORTS = (*_HTML, ".txt")


def settings_of(line: CommandLine) -> dict[str, str]:
    """``--set tt.multicast=on,tt.schedule.order=hilbert`` by key.

    A part without ``=`` belongs to the value before it: ``tt.shard=A:height,C:block``.
    """
    from tilewright.runtime.tile.pass_configs import PassConfigKey

    known = [key.value for key in PassConfigKey if key.value.startswith("tt.")]
    found: dict[str, str] = {}
    last = ""
    for part in line.values.get(SET, "").split(","):
        key, separator, value = part.partition("=")
        if not separator and last:
            found[last] += f",{part}"
        elif separator and key in known and value:
            if key in _INTEGERS and not value.isdigit():
                raise UsageError(f"--set: '{part}': expected an integer")
            last, found[key] = key, value
        elif part or SET in line.values:
            close = closest(key, known)
            hint = f"; did you mean '{close}'?" if close and close != key else ""
            raise UsageError(
                f"--set: '{part}': expected KEY=VALUE with one of {', '.join(known)}{hint}"
            )
    return found


def is_after_script(name: str, value: str, line: CommandLine) -> bool:
    """Whether a flag after a script is meant for the run: `--target tenstorrent...`, one of the
    others after it, or `--target hip...`. A script may have a `--target` of its own."""
    if name == TARGET:
        return value.partition(":")[0] in (_KIND, HIP)
    return name in FLAGS and line.values.get(TARGET, "").partition(":")[0] == _KIND


@dataclass
class TenstorrentRuns:
    """The first run of every program, for a report."""

    path: str | None
    target: str
    found: list[tuple[Artefact, RunResult]] = field(
        default_factory=lambda: list[tuple["Artefact", "RunResult"]]()
    )
    _seen: set[int] = field(default_factory=set[int])

    def add(self, artefact: Artefact, result: RunResult) -> None:
        """Take down one run; of several of one program the first, or the first with findings."""
        if id(artefact) not in self._seen or result.findings:
            self._seen.add(id(artefact))
            self.found = [each for each in self.found if each[0] is not artefact]
            self.found.append((artefact, result))

    def require_some(self) -> None:
        """Refuse a script that ran nothing on the target."""
        if not self.found:
            raise UsageError(f"--target {self.target}: the script ran no kernel")

    def write(self) -> Iterator[tuple[Path, str]]:
        """Write one page for each program; yields paths and titles."""
        if self.path is None:
            return
        first = Path(self.path)
        runs = [
            run
            for artefact, result in self.found
            for run in zip(artefact.launches, result.launches or (result,), strict=False)
        ]
        for position, (artefact, result) in enumerate(runs):
            path = first if not position else first.with_stem(f"{first.stem}-{position + 1}")
            text = _page(artefact, result, is_html=path.suffix in _HTML)
            try:
                write_whole(path, text)
            except OSError as error:
                raise UsageError(f"cannot write '{path}': {error.strerror}") from None
            yield path, f"{artefact.plan.kernel} on {artefact.plan.arch}"


def _page(artefact: Artefact, result: RunResult, *, is_html: bool) -> str:
    from tilewright.report.tenstorrent_html import program_html
    from tilewright.report.tenstorrent_text import program_text
    from tilewright.targets.tenstorrent.timeline import timeline_of

    memory = artefact.memory_map()
    if not is_html:
        return program_text(artefact.plan, memory, result.traffic)
    cores = [finding.core for finding in result.findings if finding.core is not None]
    busiest = max(artefact.plan.cores.active, key=lambda core: core.count)
    core = cores[0] if cores else (busiest.x, busiest.y)
    timeline = timeline_of(result, artefact.program(), core)
    return program_html(artefact.plan, memory, result.traffic, timeline)


@contextmanager
def tenstorrent_target(line: CommandLine) -> Generator[TenstorrentRuns | None]:
    """Run the kernels of a script on the target of the command line, if there is one."""
    given = [name for name in FLAGS if name in line.values]
    if not given or has_threads(line):
        yield None
        return
    if not line.is_script:
        raise UsageError(f"--{given[0]} applies to Python files only")
    target = line.values.get(TARGET)
    if target is None or target.partition(":")[0] != _KIND:
        found = f"--{given[0]}" if target is None else f"--target {target}"
        raise UsageError(
            f"{found}: expected --target {_KIND}:wormhole, {_KIND}:blackhole, or for the code of a "
            "GPU's threads hip:gfx942 or cuda:sm_90a; without --target, kernels with arrays of the "
            "host run on the CPU, those with arrays of a GPU there"
        )
    report = line.values.get("report")
    if report is not None and Path(report).suffix not in _REPORTS:
        raise UsageError(f"--report {report}: expected a file *.html or *.txt")
    if "timeline" in line.values:
        raise UsageError(
            "--timeline draws the tasks of kernels on a GPU: use --report OUT.html, which has the "
            "timeline of a core"
        )
    # A run on the NumPy target needs none of it.
    from tilewright.runtime.options import running
    from tilewright.runtime.tile.forced_target import targeting
    from tilewright.runtime.tile.settings import with_settings
    from tilewright.runtime.tile.tenstorrent_options import tenstorrent_running

    runs = TenstorrentRuns(report, target)
    changes = {name: line.values[name] for name in ("executor", "numerics") if name in line.values}
    is_traced = runs.path is not None
    with ExitStack() as stack:
        try:
            stack.enter_context(targeting(target))
            stack.enter_context(running(target=target))
            stack.enter_context(with_settings(settings_of(line)))
            stack.enter_context(tenstorrent_running(**changes, trace=is_traced, observer=runs.add))
        except ValueError as error:
            raise UsageError(str(error)) from None
        if changes.get("executor") == "source":
            _require_compiler()
        yield runs


def _require_compiler() -> None:
    from tilewright.targets.tenstorrent.source.toolchain import SourceExecutorUnavailable, compiler

    try:
        compiler()
    except SourceExecutorUnavailable as error:
        raise UsageError(f"--executor source: {error}") from None
