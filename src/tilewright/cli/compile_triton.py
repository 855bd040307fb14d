"""``tilewright compile`` with the installed Triton: TTIR, TTGIR, LLVM IR, assembly, machine code.

IR text is that of pointers, with or without layouts. A Python file is run as a script; each `tl` or
`tlx` kernel it launches is compiled for the arguments it is launched with.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tilewright.cli.command_line import (
    DONE,
    CommandLine,
    Ended,
    UsageError,
    code_of,
    min_severity,
    require_file,
    show_diagnostics,
    three,
)
from tilewright.cli.inputs import Level, read_ir
from tilewright.cli.outputs import write_whole
from tilewright.cli.storage_warnings import storage_warnings
from tilewright.cli.tables import aligned
from tilewright.cli.targets import TRITON_OF_TEXT
from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine
from tilewright.runtime.choice import choose, spec_named
from tilewright.targets.triton.artefact import Artefact
from tilewright.targets.triton.compile import compile_with
from tilewright.targets.triton.lowering import CompileOptions
from tilewright.targets.triton.sass import NoDisassembler, disassembled

_COUNTS = {
    "num-warps": "num_warps",
    "num-stages": "num_stages",
    "num-ctas": "num_ctas",
    "maxnreg": "maxnreg",
}
_COLUMNS = ("kernel", "target", "registers", "spilled", "shared", "tmem", "threads", "cubin")
_AMD_COLUMNS = ("kernel", "target", "VGPRs", "AGPRs", "SGPRs", "spilled", "LDS", "threads", "hsaco")
_STATED_TARGET = re.compile(r'ttg\.target = "(?:cuda:(\d+)|hip:(gfx\w+))"')
_DEFAULT = "triton:sm_90"


def compile_file(line: CommandLine, target: str, program: str) -> int:
    """Compile what a file holds or launches; the exit code."""
    _show(line, *(_of_script(line, target, program) if line.is_script else _of_text(line, target)))
    return DONE


_Done = tuple[list[Artefact], list[Diagnostic]]
"""What was compiled, and warnings about the kernels as they were written."""


def _of_text(line: CommandLine, target: str) -> _Done:
    ir = read_ir(line)
    if ir.level is not Level.POINTERS:
        raise UsageError(
            f"{ir.name} has kernels on {ir.level}, which Triton does not compile: pass --target "
            "cuda:sm_90a or hip:gfx942"
        )
    if target == TRITON_OF_TEXT:
        stated = _STATED_TARGET.search(ir.text)
        target = f"triton:{stated[2] or f'sm_{stated[1]}'}" if stated else _DEFAULT
    options = _options(line, _arch(target))
    try:
        artefact = compile_with(ir.module, options, ir.engine)
    except CompileError as error:
        show_diagnostics(error.diagnostics, ir.engine)
        raise Ended(code_of(error)) from None
    return [artefact], []  # the passes report about the text


def _of_script(line: CommandLine, target: str, program: str) -> _Done:
    # IR text needs neither the JIT nor what runs scripts.
    from tilewright.cli.quiet_script import run_quietly
    from tilewright.compat import install
    from tilewright.runtime.compile_only import compiling_only
    from tilewright.runtime.options import running
    from tilewright.runtime.pointer.compiled import CompiledKernel

    require_file(line.file)
    arch = _arch(target)
    if line.is_compat:
        install()
    found: dict[str, Artefact] = {}
    launched: set[str] = set()
    warnings: list[Diagnostic] = []

    def record(compiled: CompiledKernel) -> None:
        launched.add(compiled.name)
        artefact = compiled.artefact
        if artefact is None or line.kernel not in (None, compiled.name):
            return
        if artefact.key not in found:
            found[artefact.key] = artefact
            warnings.extend(storage_warnings(compiled))

    with running(target=target), compiling_only(record):
        run_quietly(
            line.file,
            line.script_arguments,
            program=program,
            done="compiled",
            found=lambda: bool(found),
            has_compat=not line.is_compat,
        )
    if found:
        return list(found.values()), warnings
    names = ", ".join(sorted(launched))
    of_tiles = f"hip:{arch}" if str(arch).startswith("gfx") else "cuda:sm_90a"
    raise UsageError(
        f"{line.file} launched no kernel '{line.kernel}'; it launched {names}"
        if line.kernel and launched
        else f"{line.file} launched no tl or tlx kernel, so nothing was compiled; T kernels "
        f"have targets like {of_tiles}"
    )


def _arch(target: str) -> int | str:
    try:
        return choose(spec_named(target), None).machine.arch
    except ValueError as error:
        raise UsageError(f"--target: {error}") from None


def _options(line: CommandLine, arch: int | str) -> CompileOptions:
    changes: dict[str, Any] = {
        field: int(line.values[name]) for name, field in _COUNTS.items() if name in line.values
    }
    if "cluster" in line.values:
        changes["cluster"] = three("cluster", line.values["cluster"], minimum=1)
    fused = "no-fp-fusion" not in line.switches
    return replace(CompileOptions(arch, enable_fp_fusion=fused), **changes)


# -- output --------------------------------------------------------------------------------------


def _show(line: CommandLine, done: Sequence[Artefact], warnings: Sequence[Diagnostic]) -> None:
    if "o" in line.values:
        for name, artefact in _named(done):
            _write(Path(line.values["o"]), name, artefact)
    stage = line.values.get("stage")
    if stage is not None:
        for artefact in done:
            sys.stdout.write(_stage_text(artefact, stage))
    elif line.is_json:
        sys.stdout.write(json.dumps([_described(each) for each in done], indent=2) + "\n")
    else:
        sys.stdout.write(table(done))
    sys.stdout.flush()
    threshold = min_severity(line)
    remarks = [each for artefact in done for each in artefact.remarks]
    diagnostics = [each for each in (*warnings, *remarks) if each.severity >= threshold]
    show_diagnostics(list(dict.fromkeys(diagnostics)), DiagnosticEngine())


def _described(artefact: Artefact) -> dict[str, Any]:
    return {"target": f"triton:{artefact.metadata.arch_name}", **asdict(artefact.metadata)}


def _stage_text(artefact: Artefact, stage: str) -> str:
    if stage == "sass" and "cubin" not in artefact.asm:
        raise UsageError("--stage: sass is NVIDIA's: use --stage amdgcn for AMD's assembly")
    if stage == "sass":
        try:
            return disassembled(artefact.cubin)
        except NoDisassembler as error:
            raise UsageError(f"--stage sass: {error}") from None
    if stage == "ptx" and stage not in artefact.asm:
        raise UsageError("--stage: ptx is NVIDIA's: use --stage amdgcn for AMD's assembly")
    if stage not in artefact.asm:
        raise UsageError(
            f"--stage: {artefact.name} is a plain kernel, its TTGIR is Triton's: use ttgir.final"
        )
    return artefact.text(stage)


def _named(done: Sequence[Artefact]) -> Iterator[tuple[str, Artefact]]:
    """Names of files: a kernel compiled for several kinds of arguments gets a number."""
    count: dict[str, int] = {}
    for artefact in done:
        occurrence = count[artefact.name] = count.get(artefact.name, 0) + 1
        yield artefact.name if occurrence == 1 else f"{artefact.name}-{occurrence}", artefact


def _write(directory: Path, name: str, artefact: Artefact) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for stage, content in artefact.asm.items():
            path = directory / f"{name}.{stage}"
            write_whole(path, content)
        write_whole(directory / f"{name}.json", artefact.metadata.to_json() + "\n")
    except OSError as error:
        raise UsageError(f"cannot write to '{directory}': {error.strerror}") from None


def table(done: Sequence[Artefact]) -> str:
    """One line a kernel."""
    if any("hsaco" in artefact.asm for artefact in done):
        return _amd_table(done)
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for artefact in done:
        metadata = artefact.metadata
        row = (
            artefact.name,
            metadata.arch_name,
            metadata.registers,
            f"{metadata.spill_bytes} B",
            f"{metadata.shared} B",
            metadata.tmem,
            metadata.threads,
            f"{len(artefact.cubin)} B",
        )
        rows.append(tuple(map(str, row)))
    return aligned(rows)


def _amd_table(done: Sequence[Artefact]) -> str:
    rows: list[tuple[str, ...]] = [_AMD_COLUMNS]
    for artefact in done:
        metadata = artefact.metadata
        row = (
            artefact.name,
            metadata.arch_name,
            metadata.registers,
            metadata.accumulation_registers,
            metadata.scalar_registers,
            f"{metadata.spill_bytes} B",
            f"{metadata.shared} B",
            metadata.threads,
            f"{len(artefact.code)} B",
        )
        rows.append(tuple(map(str, row)))
    return aligned(rows)
