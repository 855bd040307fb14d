"""Collects the stages of one case, in the order in which they are made."""

from __future__ import annotations

import linecache
import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from scripts.same_output.text import BETWEEN_MESSAGES, CODE, MESSAGES, Parts, ir_parts, portable
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine, SourcePosition
from tilewright.ir.passes import Pass, Pipeline
from tilewright.ir.text import print_module

ROOT = Path(__file__).resolve().parents[2]
_CODE = re.compile(r"\[(TW\d{4})\]")


class Stages:
    """The stages of one case: a name, and its parts."""

    def __init__(self, *, wants_ptx: bool = False) -> None:
        self.wants_ptx = wants_ptx
        self.found: dict[str, Parts] = {}

    def add(self, name: str, parts: Parts) -> None:
        """Stages of the same name, as of two kernels that are alike, are numbered."""
        number, unique = 1, name
        while unique in self.found:
            number += 1
            unique = f"{name}#{number}"
        self.found[unique] = {part: portable(text, ROOT) for part, text in parts.items()}

    def code(self, name: str, text: str) -> None:
        self.add(name, ir_parts(text))

    def module(self, name: str, module: ModuleOp) -> None:
        self.code(name, print_module(module))

    def passes(
        self, way: str, passes: Sequence[Pass], module: ModuleOp, engine: DiagnosticEngine
    ) -> bool:
        """Run `passes` over `module`, which is changed; each leaves a stage, also a failing one."""
        self.module(f"{way}/00-input", module)
        done = 0

        def after_each(each: Pass, number: int) -> bool:
            nonlocal done
            done = number
            self.module(f"{way}/{number:02d}-{each.name}", module)
            return True

        if Pipeline(passes).run(module, engine, after_each):
            return True
        self.module(f"{way}/{done + 1:02d}-{passes[done].name}.failed", module)
        return False

    def diagnostics(self, name: str, found: Iterable[Diagnostic]) -> None:
        """What was reported: severity, code and location as `code`, the rest as `messages`."""
        heads: list[str] = []
        texts: list[str] = []
        for each in found:
            head = f"{each.severity.label} {each.code} {_source_line(each)}"
            heads.append(head)
            notes = [f"  note {_source_line(note)}: {note.message}" for note in each.notes]
            texts.append("\n".join([f"{head}: {each.message}", *notes]))
        self.add(name, {CODE: "\n".join(heads), MESSAGES: BETWEEN_MESSAGES.join(texts)})

    @contextmanager
    def guarded(self, name: str) -> Generator[None]:
        """A part of the case that may fail; then how is its stage, and the case goes on."""
        try:
            yield
        except CompileError as error:
            self.diagnostics(f"{name}/refused", error.diagnostics)
        except Exception as error:  # what fails must fail alike in both trees
            kind, diagnostic = type(error).__name__, getattr(error, "diagnostic", None)
            if isinstance(diagnostic, Diagnostic):
                self.diagnostics(f"{name}/raised-{kind}", [diagnostic])
            else:
                codes = " ".join(_CODE.findall(str(error)))
                self.add(f"{name}/raised", {CODE: f"{kind} {codes}", MESSAGES: f"{kind}: {error}"})


def _source_line(diagnostic: Diagnostic) -> str:
    position = diagnostic.trail.primary
    return "nowhere" if position is None else _line_of(position)


def _line_of(position: SourcePosition) -> str:
    """A location that stays the same if lines above it come or go, or its comment is another."""
    lines = linecache.getlines(position.file)
    name = Path(position.file).name
    if not 0 < position.line <= len(lines):
        return f"{name}:{position.line}:{position.column}"
    mark = " #" if name.endswith(".py") else "//"
    bare = [line.partition(mark)[0].strip() for line in lines[: position.line]]
    text, earlier = bare[-1], bare.count(bare[-1]) - 1
    occurrence = f" (occurrence {earlier + 1})" if earlier else ""
    return f"{name}: {text!r}{occurrence} column {position.column}"
