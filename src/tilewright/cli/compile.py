"""``tilewright compile``: machine code for a GPU, on a machine with or without one.

IR text is compiled as it stands. A Python file is run as a script, and every kernel it launches is
compiled for the arguments it was launched with, and not run; arrays keep what they held.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright.cli.command_line import (
    CommandLine,
    Flags,
    UsageError,
    positive,
    require_file,
    show_diagnostics,
    text_of,
    three,
)
from tilewright.dialects import make_context
from tilewright.dialects.tt.functions import FuncOp
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine, Severity
from tilewright.ir.passes import closest
from tilewright.ir.text import parse_source
from tilewright.ir.verify import verify
from tilewright.runtime.choice import Spec, choose, spec_named
from tilewright.targets.triton.artefact import Artefact
from tilewright.targets.triton.compile import compile_with
from tilewright.targets.triton.installation import TritonMissing
from tilewright.targets.triton.lowering import CompileOptions
from tilewright.targets.triton.sass import NoDisassembler, disassembled

if TYPE_CHECKING:
    from tilewright.cli.compile_tile import Request

_USAGE = """\
usage: {program} [flags] FILE.py[:KERNEL] [arguments of the script]
       {program} [flags] FILE.ttir[:KERNEL]       ('-' is standard input)

Compiles kernels to machine code; no GPU is needed. T kernels, and tl kernels raised to tiles, are
compiled with CUDA C++ and NVRTC, or HIP C++ and clang; tl and tlx kernels with the installed Triton
where the target is triton. A Python file is run like a script: its kernels are compiled for their
launch arguments, and not run; its output is not shown. IR text may be TTIR, TTGIR with or without
storage aliasing, or tile kernels. Prints one line per kernel.

  --target TARGET       T, tl: cuda:sm_90a, cuda:sm_80, ..., hip:gfx942, hip:gfx1100, ...,
                        tenstorrent:wormhole, tenstorrent:blackhole. tl, tlx: triton:sm_90,
                        triton:sm_100, triton:gfx942, ...; 'triton' is the GPU of this machine;
                        TTGIR has its target
  --remarks             print remarks: layout conversions in loops, registers, spills, missed
                        optimisations and their reasons
  --json                T for GPUs: print target, grid, threads, registers, spills and parameters
                        of every kernel as JSON, instead of the table
  --explain             for Tenstorrent: which core computes which blocks, circular buffers in
                        the L1 of a core, predicted traffic; cycles by kernel and core, and of
                        other settings (a model, not measured)
  --set KEY=VALUE,...   for Tenstorrent: settings, which precede those of the kernels:
                        tt.multicast=on,tt.schedule.order=hilbert
  --stage STAGE         print this stage: ttir, ttgir, ttgir.final, llir, ptx or sass, for AMD
                        amdgcn; for T kernels tile, thread, cuda, ptx or sass; for hip tile,
                        thread, hip or isa; for Tenstorrent tile, tensix, reader, compute, writer,
                        host or plan
  -o DIR                write every stage, the machine code and its launch metadata there; for
                        Tenstorrent reader.cpp, compute.cpp, writer.cpp, main.cpp, tt.plan.json

IR text (in a script, the launches set these)
  --num-warps N         warps per program (4)
  --num-stages N        stages of Triton's pipeliner, in plain kernels (3)
  --num-ctas N          CTAs that share a program (1)
  --cluster X[,Y[,Z]]   CTAs in a cluster, each a program of its own
  --maxnreg N           register limit per thread
  --no-fp-fusion        do not contract multiply and add to fma

examples:
  {program} examples/tlx/hopper_gemm_ws.py --target triton:sm_90 --remarks
  {program} examples/storage_alias/hopper_gemm_ring.mlir --stage ptx
  {program} examples/tile/gemm.py --target cuda:sm_90a --stage cuda
  {program} examples/tl/softmax.py --target cuda:sm_90a --remarks
  {program} examples/tile/gemm.py --target hip:gfx942 --remarks
  {program} examples/tile/gemm.py --target tenstorrent:wormhole -o DIR

Exit code: 0, or 1 if something does not compile.
"""

_COUNTS = {
    "num-warps": "num_warps",
    "num-stages": "num_stages",
    "num-ctas": "num_ctas",
    "maxnreg": "maxnreg",
}
_FLAGS = Flags(
    with_value=("target", "stage", "o", "cluster", "set", *_COUNTS),
    switches=("explain", "json", "remarks", "no-fp-fusion"),
)
_TEXT_ONLY = (*_COUNTS, "cluster", "no-fp-fusion")
_KEYWORDS = {**_COUNTS, "cluster": "ctas_per_cga"}
"""Launch arguments of the same meaning."""
_STAGES = ("ttir", "ttgir", "ttgir.final", "llir", "ptx", "sass")
_AMD_STAGES = ("ttir", "ttgir", "ttgir.final", "llir", "amdgcn")
_COLUMNS = ("kernel", "target", "registers", "spilled", "shared", "tmem", "threads", "cubin")
_AMD_COLUMNS = ("kernel", "target", "VGPRs", "AGPRs", "SGPRs", "spilled", "LDS", "threads", "hsaco")
_AMD_TARGET = re.compile(r"triton:gfx\w+")
_TILE_STAGES = ("tile", "thread", "cuda", "ptx", "sass")
_TILE_TARGET = re.compile(r"cuda(:sm_\d+[af]?)?|hip(:.+)?|tenstorrent(:\w+)?")
_HIP = "hip"
_HIP_STAGES = ("tile", "thread", "hip", "isa")
_TENSTORRENT = "tenstorrent"
_TENSTORRENT_STAGES = ("tile", "tensix", "reader", "compute", "writer", "host", "plan")
_BINARIES: dict[tuple[str, ...], tuple[str, str]] = {
    _AMD_STAGES: ("hsaco", "amdgcn"),
    _HIP_STAGES: ("hsaco", "isa"),
}
"""The machine code of a target, and the stage that is its text; of others: cubin, sass."""
_ARCHITECTURE = re.compile(r"sm_(\d+)([af]?)")
_AMD_ARCHITECTURE = re.compile(r"gfx\w+")
_ARCHITECTURE_SPECIFIC = 90
"""The lowest architecture whose MMA and TMA instructions need the suffix a."""
_TARGETS = "triton:sm_90 (tl, tlx), cuda:sm_90a, hip:gfx942 or tenstorrent:wormhole (T, tl)"
_T = TypeVar("_T")
_STATED_TARGET = re.compile(r'ttg\.target = "(?:cuda:(\d+)|hip:(gfx\w+))"')


def _parse(arguments: Sequence[str]) -> CommandLine:
    line = _FLAGS.parse(arguments)
    _check(line)
    return line


def _check(line: CommandLine) -> None:
    stage = line.values.get("stage")
    is_tile = _is_for_tiles(line.values.get("target"))
    stages = _TILE_STAGES if is_tile else _STAGES
    if _AMD_TARGET.fullmatch(line.values.get("target", "")):
        stages = _AMD_STAGES
    elif is_tile and line.values["target"].startswith(_HIP):
        stages = _HIP_STAGES
    if is_tile and line.values["target"].startswith(_TENSTORRENT):
        stages = _TENSTORRENT_STAGES
    elif "set" in line.values:
        raise UsageError(
            "--set applies to --target tenstorrent only: GPU kernels have pass_configs"
        )
    elif "explain" in line.switches:
        raise UsageError("--explain applies to --target tenstorrent only: use --remarks for GPUs")
    if "json" in line.switches and not (is_tile and stages is not _TENSTORRENT_STAGES):
        raise UsageError("--json applies to T kernels for GPUs: use -o DIR, which writes metadata")
    if "json" in line.switches and stage is not None:
        raise UsageError("--json and --stage are mutually exclusive")
    if stage is not None and stage not in stages:
        binary, text = _BINARIES.get(stages, ("cubin", "sass"))
        if stage == binary:
            raise UsageError(
                f"--stage: a {stage} is binary and cannot be printed: use --stage {text} for its "
                f"instructions, or -o DIR to write the {stage} file"
            )
        raise UsageError(f"--stage: '{stage}' is not one of {', '.join(stages)}")
    for_text = [name for name in _TEXT_ONLY if name in line.values or name in line.switches]
    if line.is_script and for_text:
        where = (_set_in_tile_kernel if is_tile else _set_in_launch)(line, for_text[0])
        raise UsageError(
            f"--{for_text[0]} applies to IR text only, not to a Python script: remove it{where}"
        )
    if is_tile and for_text:
        raise UsageError(
            f"--{for_text[0]} applies to the target triton only: a tile kernel sets it itself"
        )
    positive(line, tuple(_COUNTS))


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


def _is_for_tiles(target: str | None) -> bool:
    """Whether a target is one that `T` kernels are compiled for."""
    return target is not None and _TILE_TARGET.fullmatch(target) is not None


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    if any(argument in ("-h", "--help", "-help") for argument in arguments):
        sys.stdout.write(_USAGE.format(program=program))
        return 0
    try:
        line = _parse(arguments)
        if _is_for_tiles(line.values.get("target")):
            _compile_tiles(line, program)
            return 0
        done = _compile_script(line, program) if line.is_script else _compile_text(line)
        if done is None:
            return 1
        _show(line, done)
    except (UsageError, TritonMissing) as error:
        sys.stderr.write(f"{program}: {error}\n")
        return 1
    except CompileError as error:
        show_diagnostics(error.diagnostics, DiagnosticEngine())
        return 1
    return 0


# -- T kernels -----------------------------------------------------------------------------------


def _compile_tiles(line: CommandLine, program: str) -> None:
    # The ways to a program need nothing of each other.
    from tilewright.cli import compile_tile as tiles

    request = tiles.Request(line.file, line.kernel, line.values["target"], line.script_arguments)
    has_json = "json" in line.switches
    if request.target.startswith(_TENSTORRENT):
        from tilewright.cli import compile_tenstorrent as tensix
        from tilewright.cli.tenstorrent import settings_of
        from tilewright.runtime.tile.settings import with_settings

        with with_settings(settings_of(line)):
            compiled = tensix.compile_file(request, program)
        _show_tiles(line, compiled, tensix.write_files, tensix.rows, tensix.stage_text)
        if "explain" in line.switches:
            sys.stdout.write(f"\n{tensix.explanation(compiled)}")
        engines = [each.engine for each in compiled]
    elif request.target.startswith(_HIP):
        from tilewright.cli import compile_hip
        from tilewright.targets.errors import HipCompilerMissing

        stage = None if "o" in line.values else line.values.get("stage")
        try:
            found = compile_hip.compile_file(request, program, stage)
        except HipCompilerMissing as error:
            raise UsageError(f"{error}{_write_sources(line, request, program)}") from None
        rows = compile_hip.json_text if has_json else compile_hip.rows
        _show_tiles(line, found, compile_hip.write_files, rows, compile_hip.stage_text)
        engines = [each.engine for each in found]
    else:
        done = tiles.compile_file(request, program)
        rows = tiles.json_text if has_json else tiles.rows
        _show_tiles(line, done, tiles.write_files, rows, tiles.stage_text)
        engines = [each.engine for each in done]
    threshold = _min_severity(line)
    for engine in engines:
        diagnostics = [one for one in engine.diagnostics if one.severity >= threshold]
        show_diagnostics(diagnostics, engine)


def _show_tiles(
    line: CommandLine,
    done: Sequence[_T],
    write_files: Callable[[Path, Sequence[_T]], None],
    summary: Callable[[Sequence[_T]], list[tuple[str, ...]] | str],
    stage_text: Callable[[Sequence[_T], str], str],
) -> None:
    """Write files and print a stage, or the summary: rows of a table, or text as it is."""
    if "o" in line.values:
        write_files(Path(line.values["o"]), done)
    stage = line.values.get("stage")
    if stage is not None:
        sys.stdout.write(stage_text(done, stage))
    else:
        rows = summary(done)
        sys.stdout.write(rows if isinstance(rows, str) else _aligned(rows))
    sys.stdout.flush()


def _write_sources(line: CommandLine, request: Request, program: str) -> str:
    """Write the stages that no compiler is needed for; what was written, for a message."""
    if "o" not in line.values:
        return ""
    from tilewright.cli import compile_hip

    directory = Path(line.values["o"])
    compile_hip.write_files(directory, compile_hip.compile_file(request, program, "hip"))
    return f"; {directory} has the source and the IR, and no code object"


# -- IR text -------------------------------------------------------------------------------------


def _compile_text(line: CommandLine) -> list[Artefact] | None:
    text = text_of(line.file)
    engine = DiagnosticEngine()
    source = parse_source(make_context(), text, line.name, engine, keep_names=True)
    if source is None or not verify(source.module, engine):
        show_diagnostics(engine.diagnostics, engine)
        return None
    if line.kernel is not None:
        _keep_only(source.module.body.block.ops, line.kernel)
    stated = _STATED_TARGET.search(text)
    spec = _spec(line, f"triton:{stated[2] or f'sm_{stated[1]}'}" if stated else None)
    options = _options(line, _arch(spec))
    try:
        return [compile_with(source.module, options, engine)]
    except CompileError as error:
        show_diagnostics(error.diagnostics, engine)
        return None


def _keep_only(ops: Any, kernel: str) -> None:
    """Leave out the other kernels of a module; what they call is left out by Triton."""
    kernels = [op for op in ops if isinstance(op, FuncOp) and op.is_public]
    names = [op.sym_name.data for op in kernels]
    if kernel not in names:
        close = closest(kernel, names)
        known = f"expected one of {', '.join(names)}" if names else "there are none"
        hint = f"did you mean '{close}'?" if close else known
        raise UsageError(f"no kernel '{kernel}'; {hint}")
    for op in kernels:
        if op.sym_name.data != kernel:
            op.detach()


def _spec(line: CommandLine, stated: str | None = None) -> Spec:
    text = line.values.get("target") or stated
    if text is None:
        raise UsageError(f"no target: pass --target, for example {_TARGETS}")
    try:
        spec = spec_named(text)
    except ValueError:
        found = _ARCHITECTURE.fullmatch(text)
        if _AMD_ARCHITECTURE.fullmatch(text):
            raise UsageError(
                f"--target: '{text}' names no backend: pass triton:{text} for tl and tlx kernels, "
                f"hip:{text} for T kernels"
            ) from None
        if found is not None:
            version, suffix = found.groups()
            suffix = suffix or ("a" if int(version) >= _ARCHITECTURE_SPECIFIC else "")
            raise UsageError(
                f"--target: '{text}' names no backend: pass triton:sm_{version} for tl and tlx "
                f"kernels, cuda:sm_{version}{suffix} for T kernels"
            ) from None
        raise UsageError(
            f"--target: '{text}' is not a target: pass a backend and an architecture, for example "
            f"{_TARGETS}"
        ) from None
    if spec.backend != "triton":
        raise UsageError(f"--target: '{text}' has no machine code; pass one like {_TARGETS}")
    return spec


def _tile_target(arch: int | str) -> str:
    """A target of `T` kernels for an architecture, or one like it."""
    return f"{_HIP}:{arch}" if _AMD_ARCHITECTURE.fullmatch(str(arch)) else "cuda:sm_90a"


def _arch(spec: Spec) -> int | str:
    try:
        return choose(spec, None).machine.arch
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


# -- scripts -------------------------------------------------------------------------------------


def _compile_script(line: CommandLine, program: str) -> list[Artefact] | None:
    # IR text needs neither the JIT nor what runs scripts.
    from tilewright.cli.quiet_script import run_quietly
    from tilewright.runtime.compile_only import compiling_only
    from tilewright.runtime.options import running
    from tilewright.runtime.pointer.compiled import CompiledKernel

    require_file(line.file)
    arch = _arch(_spec(line))
    found: dict[str, Artefact] = {}
    launched: set[str] = set()

    def record(compiled: CompiledKernel) -> None:
        launched.add(compiled.name)
        if compiled.artefact is not None and line.kernel in (None, compiled.name):
            found.setdefault(compiled.artefact.key, compiled.artefact)

    with running(target=line.values["target"]), compiling_only(record):
        run_quietly(
            line.file,
            line.script_arguments,
            program=program,
            done="compiled",
            found=lambda: bool(found),
        )
    if found:
        return list(found.values())
    names = ", ".join(sorted(launched))
    raise UsageError(
        f"{line.file} launched no kernel '{line.kernel}'; it launched {names}"
        if line.kernel and launched
        else f"{line.file} launched no tl or tlx kernel, so nothing was compiled; T kernels "
        f"have targets like {_tile_target(arch)}"
    )


# -- output --------------------------------------------------------------------------------------


def _show(line: CommandLine, done: Sequence[Artefact]) -> None:
    if "o" in line.values:
        for name, artefact in _named(done):
            _write(Path(line.values["o"]), name, artefact)
    stage = line.values.get("stage")
    if stage is not None:
        for artefact in done:
            sys.stdout.write(_stage_text(artefact, stage))
    else:
        sys.stdout.write(table(done))
    sys.stdout.flush()
    threshold = _min_severity(line)
    diagnostics = [
        each for artefact in done for each in artefact.remarks if each.severity >= threshold
    ]
    show_diagnostics(diagnostics, DiagnosticEngine())


def _min_severity(line: CommandLine) -> Severity:
    """The diagnostics to print: warnings in any case."""
    return Severity.REMARK if "remarks" in line.switches else Severity.WARNING


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
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        (directory / f"{name}.json").write_text(artefact.metadata.to_json() + "\n")
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
    return _aligned(rows)


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
    return _aligned(rows)


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """The first two columns begin together, numbers end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if index < 2 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "".join(line.rstrip() + "\n" for line in lines)
