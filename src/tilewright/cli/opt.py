"""``tilewright opt``: run passes over IR text, with the flags of ``mlir-opt``.

Flags may stand anywhere, with one dash or two, as ``-x=v`` or, where a value is required,
``-x v``. Flags that name a pass build the pipeline in the order they are given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilewright.cli.command_line import UsageError, text_of, wants_colour
from tilewright.cli.outputs import write_whole
from tilewright.cli.streams import guarded
from tilewright.ir.opt import OptDriver, OptOptions, timing_table
from tilewright.ir.passes import (
    PassSpec,
    Pipeline,
    PipelineError,
    closest,
    option_help,
    parse_options,
    parse_pipeline,
)
from tilewright.ir.text import FLAVOURS, flavour_named
from tilewright.passes import PASSES, RENAMED, current, expanded

_USAGE = """\
usage: {program} [flags] [FILE]

Reads IR text from FILE (or standard input, also '-'), runs passes, writes IR text.

Passes
  -PASS[="option=value ..."]     append a pass; see --list-passes
  -pass-pipeline=PIPELINE        'builtin.module(pass{{option=value}},pass)'
  -list-passes                   the passes and their options

Input and output
  -o FILE                        write there instead of standard output
  -split-input-file              process the parts between '// -----' lines separately
  -allow-unregistered-dialect    accept unknown ops in generic form
  -keep-names                    keep SSA names of the input
  -flavour=NAME                  syntax of the output: {flavours}
  -mlir-print-debuginfo          print locations
  -mlir-use-nameloc-as-prefix    take SSA names from locations, as Triton does when it prints
  -mlir-print-op-generic         print ops in generic form

Checks
  -verify-diagnostics            compare diagnostics with expected-error {{{{...}}}} comments
  -verify-each[=false]           verify after every pass (on by default)

Inspection
  -dump-ir DIR                   write DIR/NN-pass.mlir after every pass
  -mlir-print-ir-before-all      print IR to standard error before every pass
  -mlir-print-ir-after-all       the same after every pass
  -mlir-print-ir-after-failure   the same after a pass that failed
  -mlir-timing                   time spent, to standard error
  -one-line                      diagnostics without excerpt, for tools

Exit code: 0, or 1 if anything was wrong with the command line, the input or a pass.
"""

# Flags of mlir-opt that change nothing here, accepted so that its command lines work.
_IGNORED = frozenset({"mlir-disable-threading", "mlir-print-stacktrace-on-diagnostic"})


@dataclass
class _CommandLine:
    options: OptOptions = field(default_factory=OptOptions)
    passes: list[PassSpec] = field(default_factory=list[PassSpec])
    input: str | None = None
    output: str | None = None
    action: Callable[[str], str] | None = None


_SWITCHES = {
    "split-input-file": "split_input",
    "verify-diagnostics": "verify_diagnostics",
    "verify-each": "verify_each",
    "allow-unregistered-dialect": "allow_unregistered",
    "keep-names": "keep_names",
    "mlir-print-debuginfo": "locations",
    "mlir-use-nameloc-as-prefix": "names_from_locations",
    "mlir-print-op-generic": "generic",
    "mlir-print-ir-before-all": "print_before_all",
    "mlir-print-ir-after-all": "print_after_all",
    "mlir-print-ir-after-failure": "print_after_failure",
    "mlir-timing": "timing",
    "one-line": "one_line",
}
_BOOLEANS = {"": True, "true": True, "1": True, "false": False, "0": False}
_WITH_VALUE = frozenset({"o", "dump-ir", "flavour", "pass-pipeline"})


def _parse(arguments: Sequence[str]) -> _CommandLine:
    line = _CommandLine()
    pending = list(arguments)
    while pending:
        argument = pending.pop(0)
        if argument == "-" or not argument.startswith("-"):
            if line.input is not None:
                raise UsageError(f"two input files, '{line.input}' and '{argument}'")
            line.input = argument
            continue
        name, separator, value = argument.lstrip("-").partition("=")
        if name in _WITH_VALUE and not separator:
            if not pending or (pending[0].startswith("-") and pending[0] != "-"):
                raise UsageError(f"'{argument}' needs a value")
            value = pending.pop(0)
        _apply(line, argument, name, value)
    return line


def _apply(line: _CommandLine, argument: str, name: str, value: str) -> None:
    if name in _SWITCHES:
        if value not in _BOOLEANS:
            raise UsageError(f"'{argument}': expected true or false")
        line.options = replace(line.options, **{_SWITCHES[name]: _BOOLEANS[value]})
    elif name in ("help", "h"):
        line.action = _help
    elif name == "version":
        line.action = _version
    elif name == "list-passes":
        line.action = _list_passes
    elif name in _WITH_VALUE:
        _apply_value(line, name, value)
    elif name in PASSES or name in RENAMED:
        line.passes.append(PassSpec(name, parse_options(value.strip("\"'"))))
    elif name not in _IGNORED:
        raise UsageError(f"unknown command line argument '{argument}'; {_hint(argument, name)}")


def _hint(argument: str, name: str) -> str:
    known = {*_SWITCHES, *_WITH_VALUE, *PASSES, "help", "version", "list-passes"}
    close = closest(name, sorted(known))
    dashes = argument[: len(argument) - len(argument.lstrip("-"))]
    return f"did you mean '{dashes}{close}'?" if close else "try --help"


def _apply_value(line: _CommandLine, name: str, value: str) -> None:
    match name:
        case "o":
            line.output = value
        case "dump-ir":
            line.options = replace(line.options, dump_directory=Path(value))
        case "flavour":
            try:
                line.options = replace(line.options, flavour=flavour_named(value))
            except ValueError as error:
                raise UsageError(str(error)) from None
        case _:
            line.passes.extend(parse_pipeline(value))


def _help(program: str) -> str:
    return _USAGE.format(program=program, flavours=", ".join(FLAVOURS))


def _version(program: str) -> str:
    from tilewright._version import __version__

    return f"tilewright {__version__}\n"


def _list_passes(program: str) -> str:
    lines: list[str] = []
    for name, load in sorted(PASSES.items()):
        pass_class = load()
        summary = (pass_class.__doc__ or "").strip().splitlines()
        lines.append(f"{name}\n    {summary[0] if summary else ''}")
        lines.extend(f"      {option}" for option in option_help(pass_class))
    return "\n".join(lines) + "\n"


def run(arguments: Sequence[str], program: str = "tilewright-opt") -> int:
    """Run the command with `arguments`; returns the exit code."""
    try:
        line = _parse(arguments)
        if line.action is not None:
            sys.stdout.write(line.action(program))
            return 0
        specs = list(map(current, line.passes))
        pipeline = Pipeline(expanded(Pipeline.build(specs, PASSES).passes))
        name = line.input or "-"
        text = text_of(name)
    except (UsageError, PipelineError) as error:
        sys.stderr.write(f"{program}: {error}\n")
        return 1
    return _process(line, pipeline, text, "<stdin>" if name == "-" else name, program)


def _process(line: _CommandLine, pipeline: Pipeline, text: str, name: str, program: str) -> int:
    from tilewright.dialects import make_context

    options = replace(line.options, colour=wants_colour())
    try:
        outcome = OptDriver(make_context, pipeline, options, sys.stderr).run(text, name)
    except OSError as error:
        where = error.filename or options.dump_directory
        sys.stderr.write(f"{program}: cannot write '{where}': {error.strerror}\n")
        return 1
    if options.timing:
        sys.stderr.write("\n".join(timing_table(outcome.seconds)) + "\n")
    if line.output is None or line.output == "-":
        sys.stdout.write(outcome.text)
        sys.stdout.flush()
    elif outcome.exit_code == 0:
        # A failed run leaves the previous output alone.
        try:
            write_whole(line.output, outcome.text, errors="surrogateescape")
        except OSError as error:
            sys.stderr.write(f"{program}: cannot write '{line.output}': {error.strerror}\n")
            return 1
    return outcome.exit_code


def main() -> None:
    """Entry point of the console script ``tilewright-opt``."""
    sys.exit(guarded(lambda: run(sys.argv[1:])))


if __name__ == "__main__":
    main()
