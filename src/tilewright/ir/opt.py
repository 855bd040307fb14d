"""The opt driver: text in, passes, text out, with the manners of ``mlir-opt``.

It has neither dialects nor passes of its own; the command line passes both in. One run:

    split into chunks → parse → verify → (pass → verify → dump)* → print

A chunk that fails is left out of the output and the next one is tried; the exit code is then 1.
With ``verify_diagnostics`` the diagnostics of every chunk are not printed, but compared with its
``expected-error {{...}}`` comments; a chunk with others is left out of the output. All positions
are those of the original file.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.ir.diagnostics import (
    DiagnosticEngine,
    SourceManager,
    SourcePosition,
    match,
    one_line,
    parse_expectations,
    pretty,
    resolve,
)
from tilewright.ir.dumps import DumpOptions, Dumps
from tilewright.ir.passes import Pass, Pipeline
from tilewright.ir.text import DEFAULT, Flavour, ParsedSource, parse_source, print_module
from tilewright.ir.text.printer import print_operation
from tilewright.ir.verify import BROKEN_BY_A_PASS, verify

_SPLIT_LINE = re.compile(r"^// -----[^\n]*\n?", re.MULTILINE)
SPLIT_MARKER = "// -----\n"
MAX_QUOTE = 200
"""Characters of an op shown in a note."""


@dataclass(frozen=True)
class OptOptions(DumpOptions):
    """What one run of the driver does besides running the pipeline."""

    verify_diagnostics: bool = False
    verify_each: bool = True
    allow_unregistered: bool = False
    keep_names: bool = False
    locations: bool = False
    generic: bool = False
    flavour: Flavour = DEFAULT
    names_from_locations: bool = False
    timing: bool = False
    one_line: bool = False
    colour: bool = False


@dataclass(frozen=True)
class Chunk:
    """Part of the input, and how many lines of the file come before it."""

    text: str
    line_offset: int
    index: int


@dataclass
class Outcome:
    """The result of a run."""

    exit_code: int = 0
    text: str = ""
    seconds: dict[str, float] = field(default_factory=dict[str, float])


def split_chunks(text: str) -> list[Chunk]:
    """The parts of `text` between ``// -----`` lines."""
    chunks: list[Chunk] = []
    start = line = 0
    for match_ in [*_SPLIT_LINE.finditer(text), None]:
        end = len(text) if match_ is None else match_.start()
        chunks.append(Chunk(text[start:end], line, len(chunks)))
        start = len(text) if match_ is None else match_.end()
        line = text.count("\n", 0, start)
    return chunks


class OptDriver:
    """Runs one pipeline over one input."""

    def __init__(
        self,
        make_context: Callable[[], Context],
        pipeline: Pipeline,
        options: OptOptions,
        errors: TextIO,
    ) -> None:
        self._make_context = make_context
        self._pipeline = pipeline
        self._options = options
        self._errors = errors
        self._seconds: dict[str, float] = {}
        self._flavour = replace(options.flavour, names_from_locations=options.names_from_locations)

    def run(self, text: str, name: str) -> Outcome:
        """Process all of `text`, the contents of file `name`."""
        whole = Chunk(text, 0, 0)
        chunks = split_chunks(text) if self._options.split_input else [whole]
        outputs: list[str] = []
        failed = False
        for chunk in chunks:
            engine = self._engine()
            output = self._guarded(chunk, name, engine)
            if self._options.verify_diagnostics:
                is_expected = self._check_expectations(chunk, name, engine)
                failed |= not is_expected
                output = output if is_expected else None
            else:
                engine.flush()
                failed |= engine.has_errors
            outputs.extend(() if output is None else (output,))
        return Outcome(int(failed), SPLIT_MARKER.join(outputs), self._seconds)

    # -- one chunk ---------------------------------------------------------------------------

    def _guarded(self, chunk: Chunk, name: str, engine: DiagnosticEngine) -> str | None:
        """`_process`, with a fault of the compiler itself reported like any other error."""
        try:
            return self._process(chunk, name, engine)
        except OSError:
            raise  # the caller has the file name
        except Exception as error:
            position = SourcePosition(name, chunk.line_offset + 1, 1)
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            engine.error(position, shorten(f"internal error: {what}", MAX_QUOTE))
            return None

    def _process(self, chunk: Chunk, name: str, engine: DiagnosticEngine) -> str | None:
        context = self._make_context()
        context.allow_unregistered = self._options.allow_unregistered
        with self._timed("parse"):
            source = parse_source(
                context,
                chunk.text,
                name,
                engine,
                line_offset=chunk.line_offset,
                keep_names=self._options.keep_names,
            )
        if source is None:
            return None
        with self._timed("verify"):
            is_valid = verify(source.module, engine, quote=self._quote(name))
        if not is_valid or not self._run_passes(source, chunk, engine):
            return None
        with self._timed("print"):
            return self._print(source)

    def _run_passes(self, source: ParsedSource, chunk: Chunk, engine: DiagnosticEngine) -> bool:
        dumps = Dumps(self._options, self._errors, chunk.index, lambda: self._print(source))

        def after_each(each: Pass, index: int) -> bool:
            dumps.after(each.name, index)
            if not self._options.verify_each:
                return True
            with self._timed("verify"):
                quote = self._quote(None)
                return verify(source.module, engine, quote=quote, code=BROKEN_BY_A_PASS)

        dumps.begin()
        watched = [_Watched(each, self._seconds, dumps) for each in self._pipeline.passes]
        is_done = Pipeline(watched).run(source.module, engine, after_each)
        if not is_done:
            dumps.failed()
        return is_done

    def _print(self, source: ParsedSource) -> str:
        options = self._options
        return print_module(
            source.module,
            locations=options.locations,
            generic=options.generic,
            flavour=self._flavour,
            resources=source.resources,
        )

    # -- diagnostics -------------------------------------------------------------------------

    def _quote(self, name: str | None) -> Callable[[Operation], str | None] | None:
        """Shows an op that no excerpt can show.

        That is one whose location is not in the file `name`; after a pass (None), any op.
        """
        if self._options.verify_diagnostics:
            return None

        def quote(op: Operation) -> str | None:
            position = resolve(op.location).primary
            if position is not None and position.file == name:
                return None
            first, *_ = print_operation(op, generic=False).splitlines()
            return shorten(first, MAX_QUOTE, placeholder=" …")

        return quote

    def _engine(self) -> DiagnosticEngine:
        sources = SourceManager()
        if self._options.verify_diagnostics:
            return DiagnosticEngine(max_errors=None, sources=sources)
        engine = DiagnosticEngine(sources=sources)
        if self._options.one_line:
            engine.handlers.append(lambda d: self._report(one_line(d)))
        else:
            colour = self._options.colour
            engine.handlers.append(lambda d: self._report(pretty(d, sources, colour=colour)))
        return engine

    def _report(self, text: str) -> None:
        self._errors.write(text + "\n")

    def _check_expectations(self, chunk: Chunk, name: str, engine: DiagnosticEngine) -> bool:
        expectations = parse_expectations(chunk.text, name, chunk.line_offset)
        mismatches = match(expectations, engine.diagnostics)
        for mismatch in mismatches:
            self._report(pretty(mismatch.diagnostic(), engine.sources, colour=self._options.colour))
        return not mismatches

    # -- timing ------------------------------------------------------------------------------

    def _timed(self, stage: str) -> _Timer:
        return _Timer(self._seconds, stage)


class _Timer:
    def __init__(self, seconds: dict[str, float], stage: str) -> None:
        self._seconds = seconds
        self._stage = stage

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        elapsed = time.perf_counter() - self._start
        self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + elapsed


class _Watched(Pass):
    """A pass with a stop-watch, whose start is reported."""

    def __init__(self, inner: Pass, seconds: dict[str, float], dumps: Dumps) -> None:
        self._inner = inner
        self._seconds = seconds
        self._dumps = dumps

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._inner.name

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        self._dumps.before(self.name)
        with _Timer(self._seconds, self.name):
            self._inner.run(module, engine)


def timing_table(seconds: dict[str, float]) -> Sequence[str]:
    """One line per stage, longest names aligned."""
    width = max(map(len, (*seconds, "total")))
    rows = {**seconds, "total": sum(seconds.values())}
    return [f"{stage:{width}}  {spent * 1e3:9.2f} ms" for stage, spent in rows.items()]
