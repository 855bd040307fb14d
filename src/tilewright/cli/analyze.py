"""``tilewright analyze``: how every load and store depends on the program id.

The report goes to standard output (or ``-o``), everything else to standard error. A claim that a
check refutes makes the exit code 1; input that cannot be analysed makes it 2; accesses that could
not be analysed, in a kernel of which nothing was refuted, make it 3.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from tilewright.analysis.pid_address import AnalysisError
from tilewright.analysis.pid_address.checks import Check, Settings, run_checks
from tilewright.cli.analyze_inputs import Input, check_pointers, read_text, run_script
from tilewright.cli.analyze_options import Options, joined, options_of
from tilewright.cli.command_line import (
    DONE,
    NO_RESULT,
    WRONG_INPUT,
    WRONG_KERNEL,
    UsageError,
    ended,
    show_diagnostics,
    show_kind,
)
from tilewright.cli.commands import ANALYZE
from tilewright.cli.outputs import printable, write_output
from tilewright.cli.working import working_on
from tilewright.compat.script import INTERRUPTED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.report import address_html, address_json, address_text
from tilewright.report.address_document import Document
from tilewright.runtime.addresses import checks_named

Renderer = Callable[..., str]

_RENDERERS: dict[str, Renderer] = {
    "text": address_text.render,
    "json": address_json.render,
    "html": address_html.render,
}


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""

    def analyse() -> int:
        options = options_of(arguments)
        return _analyse(options, checks_named(options.checks), program)

    try:
        return ended(ANALYZE, arguments, program, analyse)
    except AnalysisError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return WRONG_INPUT


def _analyse(options: Options, checks: Sequence[Check], program: str) -> int:
    engine = DiagnosticEngine()
    code = DONE
    if options.is_script:
        script = run_script(options)
        inputs = script.inputs
        for remark in script.remarks:
            sys.stderr.write(f"{program}: {remark}\n")
        if script.code == INTERRUPTED:
            return INTERRUPTED
        if script.code:
            sys.stderr.write(f"{program}: the script ended with exit code {script.code}\n")
            code = WRONG_KERNEL
        elif not inputs:
            raise UsageError("no kernel was launched, so there is nothing to analyse")
    else:
        inputs = tuple(read_text(options, engine))
    documents = [
        _document(each, options, checks, program) for each in working_on(inputs, "analysing")
    ]
    show_diagnostics(engine.diagnostics, engine)
    if documents:
        text = _RENDERERS[options.format](documents, verbose="verbose" in options.switches)
        write_output(options, printable(text))
    if engine.has_errors:
        if not documents:
            show_kind(options.name)
        return WRONG_INPUT
    violated = any(finding.is_violation for each in documents for finding in each.findings)
    if violated or code:
        return WRONG_KERNEL
    return NO_RESULT if any(each.report.not_analysed for each in documents) else DONE


def _document(each: Input, options: Options, checks: Sequence[Check], program: str) -> Document:
    report = each.report()
    for group in options.aliases:
        check_pointers(report, sorted(group), "--may-alias")
    for note in report.notes:
        sys.stderr.write(f"{program}: {note}\n")
    return Document(
        report,
        run_checks(report, checks, _settings(options, each)),
        each.title(report),
        each.source,
    )


def _settings(options: Options, each: Input) -> Settings:
    settings = Settings() if options.timeout is None else Settings(timeout=options.timeout)
    if "noalias" in options.switches:
        return settings
    groups = [*options.aliases, *map(frozenset, each.aliases.overlapping)]
    aliases = tuple(tuple(sorted(names)) for names in joined(groups))
    return replace(settings, may_alias=aliases, same_start=each.aliases.same_start)
