"""Cases that are IR files: text tests with the passes of their RUN lines, a corpus, examples."""

from __future__ import annotations

import importlib.util
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from scripts.same_output.stages import ROOT, Stages
from scripts.same_output.text import CODE, MESSAGES, plan_parts, python_parts
from tilewright.cli import memory
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.opt import split_chunks
from tilewright.ir.passes import Pass, Pipeline, parse_options, parse_pipeline
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.passes import PASSES, expanded
from tilewright.passes.stock_triton.pipeline import pipeline_text
from tilewright.targets.numpy.kernel import compile_module

_RUN = re.compile(r"//\s*RUN:\s*(.*)")
_OURS = "tilewright-opt"
_END_OF_COMMAND = ("|", "&&", ";", "<", ">", "2>")
PIPELINES = {
    "clean-up": "canonicalize,cse,loop-invariant-code-motion,dce",
    "analyses": "axis-info,pid-address",
    "storage-alias": "tlx-storage-alias-lowering,tlx-verify-storage-alias,"
    "tlx-rewrite-local-alias,dce",
    "alias-sync": "tlx-check-alias-sync",
    "merged-memory": "merge-shared-memory{report=true}",
    "ttgir": pipeline_text(capability=90, num_warps=4),
}
"""What every file of the corpus goes through; what a pass refuses is recorded so."""


def run_text_test(name: str, stages: Stages) -> None:
    """A text test: the IR after each pass of each of its RUN lines, and its diagnostics."""
    path = ROOT / name
    for number, arguments in enumerate(_commands(path.read_text()), 1):
        with stages.guarded(f"run-{number}"):
            passes = expanded(Pipeline.build(parse_pipeline(_passes_of(arguments)), PASSES).passes)
            for chunk, (text, line) in enumerate(_chunks(path, arguments), 1):
                way = f"run-{number}/chunk-{chunk:03d}"
                with stages.guarded(way):
                    _run_text(way, text, name, line, passes, arguments, stages)


def _commands(text: str) -> Iterator[list[str]]:
    """The arguments of our tool in each RUN line."""
    joined = re.sub(r"\\\n//\s*RUN:\s*", "", text)
    for line in _RUN.findall(joined):
        words = shlex.split(line)
        for position, word in enumerate(words):
            if word != _OURS:
                continue
            arguments: list[str] = []
            for each in words[position + 1 :]:
                if each.startswith(_END_OF_COMMAND):
                    break
                arguments.append(each)
            if "%s" in arguments:
                yield [each.lstrip("-") for each in arguments if each.startswith("-")]


def _passes_of(arguments: Sequence[str]) -> str:
    """The flags that name passes, as a pipeline."""
    found: list[str] = []
    for each in arguments:
        name, _, value = each.partition("=")
        if name == "pass-pipeline":
            found.append(value)
        elif name in PASSES:
            options = parse_options(value.strip("\"'"))
            shown = " ".join(f"{key}={text}" for key, text in options.items())
            found.append(f"{name}{{{shown}}}" if shown else name)
    return ",".join(found)


def _chunks(path: Path, arguments: Sequence[str]) -> list[tuple[str, int]]:
    text = path.read_text()
    if "split-input-file" not in arguments:
        return [(text, 0)]
    return [(each.text, each.line_offset) for each in split_chunks(text)]


def _run_text(
    way: str,
    text: str,
    name: str,
    line: int,
    passes: Sequence[Pass],
    arguments: Sequence[str],
    stages: Stages,
) -> None:
    engine = DiagnosticEngine(max_errors=None)
    context = make_context()
    context.allow_unregistered = "allow-unregistered-dialect" in arguments
    keep = "keep-names" in arguments
    try:
        source = parse_source(
            context, text, str(ROOT / name), engine, line_offset=line, keep_names=keep
        )
        if source is not None and verify(source.module, engine):
            stages.passes(way, passes, source.module, engine)
    finally:
        stages.diagnostics(f"{way}/diagnostics", engine.diagnostics)


def run_file(name: str, stages: Stages) -> None:
    """A file of the corpus: every pipeline, NumPy source, its memory as a plan."""
    path = ROOT / name
    module = _parsed(path, stages)
    if module is None:
        return
    for way, pipeline in PIPELINES.items():
        engine, copy = DiagnosticEngine(max_errors=None), module.clone()
        with stages.guarded(way):
            stages.passes(
                way, Pipeline.build(parse_pipeline(pipeline), PASSES).passes, copy, engine
            )
        stages.diagnostics(f"{way}/diagnostics", engine.diagnostics)
    with stages.guarded("numpy"):
        stages.add("numpy", python_parts(compile_module(module.clone()).source))
    for flags in ((), ("--merge",)):
        _run_memory(path, flags, stages)


def _parsed(path: Path, stages: Stages) -> ModuleOp | None:
    engine = DiagnosticEngine(max_errors=None)
    source = parse_source(make_context(), path.read_text(), str(path), engine)
    is_valid = source is not None and verify(source.module, engine)
    stages.diagnostics("parsed/diagnostics", engine.diagnostics)
    return source.module if source is not None and is_valid else None


def run_script(name: str, stages: Stages) -> None:
    """What a program with `main` prints: plans, and IR that it writes."""
    path = ROOT / name
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for arguments in ([], ["--canary"]):
        with redirect_stdout(io.StringIO()) as out:
            script.main(arguments)
        stages.code(
            "-".join(("printed", *(each.lstrip("-") for each in arguments))), out.getvalue()
        )


def _run_memory(path: Path, flags: Sequence[str], stages: Stages) -> None:
    """The memory plan that `tilewright memory` shows."""
    name = "-".join(("memory", *(each.lstrip("-") for each in flags)))
    out, errors = io.StringIO(), io.StringIO()
    with stages.guarded(name):
        with redirect_stdout(out), redirect_stderr(errors):
            code = memory.run([str(path), "--format", "json", *flags], "memory")
        stages.add(f"{name}/plan", plan_parts(out.getvalue()))
        stages.add(f"{name}/exit", {CODE: str(code), MESSAGES: errors.getvalue()})
