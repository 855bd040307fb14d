"""``tilewright analyze``: how every load and store depends on the program id.

The report goes to standard output (or ``-o``), everything else to standard error. A claim that a
check refutes makes the exit code 1; input that cannot be analysed makes it 2; accesses that could
not be analysed, in a kernel of which nothing was refuted, make it 3.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from tilewright.analysis.pid_address import AnalysisError
from tilewright.analysis.pid_address.checks import ALL_CHECKS, Check, Settings, run_checks
from tilewright.cli.analyze_inputs import Input, check_pointers, read_text, run_script
from tilewright.cli.analyze_options import Options, joined, parse
from tilewright.cli.command_line import UsageError, show_diagnostics
from tilewright.cli.outputs import write_whole
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.report import address_html, address_json, address_text
from tilewright.report.address_document import Document
from tilewright.runtime.addresses import checks_named

_USAGE = """\
usage: {program} [flags] FILE
       {program} [flags] FILE.py [arguments of the script]

Explains every load, store and atomic of a kernel: how its address depends on the program id,
whether it coalesces, its vector width. FILE is IR text ('-' for standard input); a script is
run, and every kernel it launches is analysed with its real grid, arguments and buffers.

  --format FORMAT        text (the default), json or html (one file); --json for short
  -o FILE                write there instead of standard output
  --verbose              text: also vector width, alignment, order, guard, assumptions
  --function NAME        this function, or only launches of this kernel
  --check LIST           checks to run: {checks}; or all
  --assume CONDITION     a condition that holds, for example 'M % 128 == 0'
  --noalias              pointer arguments do not alias (the default; in scripts, the
                         addresses of the arrays decide)
  --may-alias A,B        these arguments may alias
  --strict-overflow      treat values that may overflow as unknown
  --timeout SECONDS      limit for all solver queries; without it only steps are limited

for IR text
  --grid X[,Y[,Z]]       programs along each axis; '?' for an unknown extent
  --arg NAME=VALUE       the value of an integer argument
  --buffer NAME=BYTES    size of the buffer of a pointer argument

for scripts
  --target TARGET        analyse tl kernels as they are raised to tiles for cuda:sm_90a, hip:gfx942
                         or another target
  --compat               redirect `import triton` to Tilewright
  --traceback            print Python's traceback of an error

Flags precede the script; arguments after it are the script's.

examples:
  {program} kernel.ttir --grid 8 --arg n=1000 --buffer x_ptr=4000 --check bounds,race
  {program} --format html -o softmax.html examples/tl/softmax.py

Exit code: 0; 1 if a check found a violation (coalesce, bounds, race or overflow refuted);
2 if the input is wrong; 3 if nothing was refuted, but something that accesses global memory was
not analysed.
"""

_BAD_INPUT = 2
_NOT_ANALYSED = 3

Renderer = Callable[..., str]

_RENDERERS: dict[str, Renderer] = {
    "text": address_text.render,
    "json": address_json.render,
    "html": address_html.render,
}


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    script = next((index for index, each in enumerate(arguments) if each.endswith(".py")), None)
    if any(argument in ("-h", "--help", "-help") for argument in arguments[:script]):
        sys.stdout.write(_USAGE.format(program=program, checks=", ".join(ALL_CHECKS)))
        return 0
    try:
        options = parse(arguments)
        return _analyse(options, checks_named(options.checks), program)
    except (UsageError, AnalysisError) as error:
        sys.stderr.write(f"{program}: {error}\n")
        return _BAD_INPUT


def _analyse(options: Options, checks: Sequence[Check], program: str) -> int:
    engine = DiagnosticEngine()
    code = 0
    if options.is_script:
        script = run_script(options)
        inputs = script.inputs
        for remark in script.remarks:
            sys.stderr.write(f"{program}: {remark}\n")
        if script.code:
            sys.stderr.write(f"{program}: the script ended with exit code {script.code}\n")
            code = _BAD_INPUT
        elif not inputs:
            raise UsageError("no kernel was launched, so there is nothing to analyse")
    else:
        inputs = tuple(read_text(options, engine))
    documents = [_document(each, options, checks, program) for each in inputs]
    show_diagnostics(engine.diagnostics, engine)
    if documents:
        text = _RENDERERS[options.format](documents, verbose="verbose" in options.switches)
        code = max(code, _write(options.output, _printable(text), program))
    if engine.has_errors or code:
        return _BAD_INPUT
    violated = any(finding.is_violation for each in documents for finding in each.findings)
    if violated:
        return 1
    return _NOT_ANALYSED if any(each.report.not_analysed for each in documents) else 0


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


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def _printable(text: str) -> str:
    """`text` without what names may contain but XML, UTF-8 and terminals cannot."""
    return _UNPRINTABLE.sub("\ufffd", text)


def _write(output: str, text: str, program: str) -> int:
    if output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return 0
    try:
        write_whole(output, text)
    except OSError as error:
        sys.stderr.write(f"{program}: cannot write '{output}': {error.strerror}\n")
        return _BAD_INPUT
    return 0
