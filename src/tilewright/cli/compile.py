"""``tilewright compile``: machine code for a GPU, on a machine with or without one.

IR text is compiled as it stands; on pointers, for a target that compiles tiles, raised. A Python
file is run as a script, and every kernel it launches is compiled for the arguments it was launched
with, and not run; arrays keep what they held. The target decides by which compiler:

    cuda           `compile_tile`         hip       `compile_hip`
    tenstorrent    `compile_tenstorrent`  triton    `compile_triton`
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tilewright.cli.command_line import (
    CommandLine,
    UsageError,
    ended,
    min_severity,
    parse,
    positive,
    show_diagnostics,
)
from tilewright.cli.commands import COMPILE, DEFAULT_TARGET
from tilewright.cli.tables import aligned
from tilewright.cli.targets import (
    HIP,
    TENSTORRENT,
    TILES,
    TRITON,
    TRITON_OF_TEXT,
    checked_name,
    kind_of,
    no_backend,
)
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.targets.triton.installation import TritonMissing

_COUNTS = ("num-warps", "num-stages", "num-ctas", "maxnreg")
_TEXT_ONLY = (*_COUNTS, "cluster", "no-fp-fusion")
_KEYWORDS = {each: each.replace("-", "_") for each in _COUNTS} | {"cluster": "ctas_per_cga"}
"""Launch arguments of the same meaning."""
_AMD, _NVIDIA = "amd", "nvidia"
_STAGES = {
    _NVIDIA: ("ttir", "ttgir", "ttgir.final", "llir", "ptx", "sass"),
    _AMD: ("ttir", "ttgir", "ttgir.final", "llir", "amdgcn"),
    "cuda": ("tile", "thread", "cuda", "ptx", "sass"),
    HIP: ("tile", "thread", "hip", "isa"),
    TENSTORRENT: ("tile", "tensix", "reader", "compute", "writer", "host", "plan"),
}
_BINARIES = {_AMD: ("hsaco", "amdgcn"), HIP: ("hsaco", "isa")}
"""The machine code of a target, and the stage that is its text; of others: cubin, sass."""
_EXAMPLES = "triton:sm_90 (tl, tlx), cuda:sm_90a, hip:gfx942 or tenstorrent:wormhole (T, tl, tlx)"
_AMD_TARGET = re.compile(r"triton:gfx\w+")
_IS_TILES = re.compile(r"\btile\.kernel\b")
_NOT_CHOSEN = (
    "NVRTC is not installed: registers are not known, so forms of the kernel that spill less, or "
    "let more blocks run, were not tried"
)
_T = TypeVar("_T")


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""

    def compile() -> int:
        line = parse(COMPILE, arguments)
        target = _target(line)
        _check(line, target)
        if kind_of(target) in TILES:
            return _compile_tiles(line, checked_name(target), program)
        # Kernels on tiles need nothing of Triton.
        from tilewright.cli import compile_triton

        try:
            return compile_triton.compile_file(line, target, program)
        except TritonMissing as error:
            raise UsageError(str(error)) from None

    return ended(COMPILE, arguments, program, compile)


def _target(line: CommandLine) -> str:
    """The target of the command line; of IR text on pointers by default that of Triton."""
    given = line.values.get("target")
    if given is None and not line.is_script:
        given = DEFAULT_TARGET if _IS_TILES.search(line.text) else TRITON_OF_TEXT
    target = given or DEFAULT_TARGET
    problem = None if target == TRITON_OF_TEXT else no_backend(target, _EXAMPLES)
    if problem is not None:
        raise UsageError(problem)
    if kind_of(target) not in (*TILES, TRITON) or re.fullmatch(r"cuda:\d+", target):
        raise UsageError(f"--target: '{target}' has no machine code; pass one like {_EXAMPLES}")
    return target


def _check(line: CommandLine, target: str) -> None:
    kind = kind_of(target)
    if kind == TRITON:
        kind = _AMD if _AMD_TARGET.fullmatch(target) else _NVIDIA
    stage, stages = line.values.get("stage"), _STAGES[kind]
    if kind != TENSTORRENT and "set" in line.values:
        raise UsageError(
            "--set applies to --target tenstorrent only: GPU kernels have pass_configs"
        )
    if kind != TENSTORRENT and "explain" in line.switches:
        raise UsageError("--explain applies to --target tenstorrent only: use --remarks for GPUs")
    if line.is_json and stage is not None:
        raise UsageError("--json and --stage are mutually exclusive")
    if line.is_json and "explain" in line.switches:
        raise UsageError("--json and --explain are mutually exclusive")
    if stage is not None and stage not in stages:
        binary, text = _BINARIES.get(kind, ("cubin", "sass"))
        if stage == binary:
            raise UsageError(
                f"--stage: a {stage} is binary and cannot be printed: use --stage {text} for its "
                f"instructions, or -o DIR to write the {stage} file"
            )
        raise UsageError(f"--stage: '{stage}' is not one of {', '.join(stages)}")
    for_text = [name for name in _TEXT_ONLY if name in line.values or name in line.switches]
    is_tile = kind in TILES
    if line.is_script and for_text:
        where = (_set_in_tile_kernel if is_tile else _set_in_launch)(line, for_text[0])
        raise UsageError(
            f"--{for_text[0]} applies to IR text only, not to a Python script: remove it{where}"
        )
    if is_tile and for_text:
        raise UsageError(
            f"--{for_text[0]} applies to the target triton only: a tile kernel sets it itself"
        )
    positive(line, _COUNTS)


def _set_in_launch(line: CommandLine, name: str) -> str:
    """Where a `tl` or `tlx` script sets what an option sets for IR text."""
    if name == "no-fp-fusion":
        keyword = "enable_fp_fusion=False"
    else:
        value = line.values[name]
        keyword = f"{_KEYWORDS[name]}={f'({value})' if name == 'cluster' else value}"
    return f" and set it in the launch: kernel[grid](..., {keyword})"


def _set_in_tile_kernel(line: CommandLine, name: str) -> str:
    """Where a `T` script sets what an option sets for IR text; empty if nowhere."""
    value = line.values.get(name, "")
    if name == "num-warps":
        threads = str(32 * int(value)) if value.isdigit() else "..."
        return f" and set the threads in the kernel: T.Kernel(..., threads={threads})"
    if name == "num-stages":
        return f" and set the stages in the kernel: T.Pipelined(..., num_stages={value})"
    return ""


# -- kernels on tiles ------------------------------------------------------------------------------


def _compile_tiles(line: CommandLine, target: str, program: str) -> int:
    # The ways to a program need nothing of each other.
    engines: list[DiagnosticEngine]
    if kind_of(target) == TENSTORRENT:
        from tilewright.cli import compile_tenstorrent as tensix
        from tilewright.cli.tenstorrent import settings_of
        from tilewright.runtime.tile.settings import with_settings

        with with_settings(settings_of(line)):
            programs, sources = tensix.compile_file(line, target, program)
        summary = tensix.json_text if line.is_json else tensix.rows
        _show(line, programs, tensix.write_files, summary, tensix.stage_text, sources.refused)
        if "explain" in line.switches:
            sys.stdout.write(f"\n{tensix.explanation(programs)}")
        engines = [each.engine for each in programs]
    elif kind_of(target) == HIP:
        from tilewright.cli import compile_hip
        from tilewright.targets.errors import HipCompilerMissing

        stage = None if "o" in line.values else line.values.get("stage")
        try:
            found, sources = compile_hip.compile_file(line, target, program, stage)
        except HipCompilerMissing as error:
            without = _without_code(line, target, program, compile_hip, "hip", "code object")
            raise UsageError(f"{error}{without}") from None
        rows = compile_hip.json_text if line.is_json else compile_hip.rows
        _show(line, found, compile_hip.write_files, rows, compile_hip.stage_text, sources.refused)
        engines = [each.engine for each in found]
    else:
        from tilewright.cli import compile_tile as tiles
        from tilewright.targets.cuda.nvrtc_library import NvrtcMissing

        stage = None if "o" in line.values else line.values.get("stage")
        try:
            done, sources = tiles.compile_file(line, target, program, stage)
        except NvrtcMissing as error:
            without = _without_code(line, target, program, tiles, "cuda", "machine code")
            raise UsageError(f"{error}{without}") from None
        if tiles.is_source_only(done) and stage != "tile":
            sys.stderr.write(f"{program}: {_NOT_CHOSEN}\n")
        rows = tiles.json_text if line.is_json else tiles.rows
        _show(line, done, tiles.write_files, rows, tiles.stage_text, sources.refused)
        engines = [each.engine for each in done]
    threshold = min_severity(line)
    for engine in engines:
        diagnostics = [one for one in engine.diagnostics if one.severity >= threshold]
        show_diagnostics(diagnostics, engine)
    return sources.show_rest()


def _show(
    line: CommandLine,
    done: Sequence[_T],
    write_files: Callable[[Path, Sequence[_T]], None],
    summary: Callable[[Sequence[_T]], list[tuple[str, ...]] | str],
    stage_text: Callable[[Sequence[_T], str], str],
    refused: Sequence[object],
) -> None:
    """Write files and print a stage, or the summary: rows of a table, or text as it is."""
    if not done and not line.is_json:
        return
    if "o" in line.values and not refused:  # all of them, or none
        write_files(Path(line.values["o"]), done)
    stage = line.values.get("stage")
    if stage is not None:
        sys.stdout.write(stage_text(done, stage))
    else:
        rows = summary(done)
        sys.stdout.write(rows if isinstance(rows, str) else aligned(rows))
    sys.stdout.flush()


def _without_code(
    line: CommandLine, target: str, program: str, compiler: Any, stage: str, code: str
) -> str:
    """What there is without a compiler, for a message: with -o, the stages before it are written.

    `compiler` is `compile_tile` or `compile_hip`.
    """
    if "o" not in line.values:
        return f"; --stage {stage} prints the source without it"
    directory = Path(line.values["o"])
    compiler.write_files(directory, compiler.compile_file(line, target, program, stage)[0])
    return f"; {directory} has the source and the IR, and no {code}"
