"""Run host programs: `main.cpp` compiled against the host half of the shim.

The host program records what it creates; when it enqueues a workload, this process reads the
record as a `Program`, runs it on the machine, and hands the buffers back:

    host program                          driver
    EnqueueWriteMeshBuffer  ->  buffer files
    EnqueueMeshWorkload     ->  program file, request byte  ->  run, buffer files
                            <-  reply byte
    EnqueueReadMeshBuffer   <-  buffer files
"""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.targets.tenstorrent.allocation import DRAM_BASE, allocate
from tilewright.targets.tenstorrent.execution import RunOptions, RunResult
from tilewright.targets.tenstorrent.formats import TileFormat
from tilewright.targets.tenstorrent.program import (
    Buffer,
    CircularBuffer,
    CircularBufferConfig,
    ComputeConfig,
    Core,
    CoreRange,
    CoreSet,
    KernelSource,
    Processor,
    Program,
    ProgramError,
    RuntimeWord,
    Semaphore,
    Sharded,
    Space,
)
from tilewright.targets.tenstorrent.source.builds import host_binary, work_directory
from tilewright.targets.tenstorrent.source.executor import run

_PROCESSORS = (Processor.RISCV_0, Processor.RISCV_1, Processor.COMPUTE)
_FORMATS = {each.host_value: each for each in TileFormat}


@dataclass(frozen=True)
class HostRun:
    """The outcome of a host program."""

    status: int
    output: str
    """Standard output and standard error."""
    programs: tuple[Program, ...]
    results: tuple[RunResult, ...]


class _Fields:
    """The fields of one recorded line."""

    def __init__(self, line: str) -> None:
        self._fields = iter(line.split(" "))

    def text(self) -> str:
        return next(self._fields)

    def integer(self) -> int:
        return int(next(self._fields))

    def integers(self, count: int) -> tuple[int, ...]:
        return tuple(self.integer() for _ in range(count))

    def counted(self) -> tuple[int, ...]:
        return self.integers(self.integer())

    def cores(self) -> CoreSet:
        return CoreSet(tuple(CoreRange(*self.integers(4)) for _ in range(self.integer())))

    def rest(self) -> str:
        return " ".join(self._fields)


class _Record:
    """The program that the lines of a record describe."""

    def __init__(self, roots: Sequence[Path], directory: Path) -> None:
        self.roots = roots
        self.directory = directory
        self.buffers: list[Buffer] = []
        self.addresses: list[int] = []
        self.circular_buffers: list[CircularBufferConfig] = []
        self.semaphores: list[Semaphore] = []
        self.kernels: list[KernelSource] = []
        self.words: list[dict[Core, tuple[RuntimeWord, ...]]] = []

    def add(self, line: str) -> None:
        fields = _Fields(line)
        getattr(self, f"_add_{fields.text()}")(fields)

    def _add_buffer(self, fields: _Fields) -> None:
        index, dram, page_bytes, pages, address, cores = fields.integers(6)
        space = Space.DRAM if dram else Space.L1
        name = f"buffer{index}"
        is_output = bool(dram) and not (self.directory / name).exists()
        made = Buffer(name, page_bytes, pages, space, output=is_output)
        if cores:
            rows, columns, high, wide = fields.integers(4)
            pairs = tuple((fields.integer(), fields.integer()) for _ in range(cores))
            made = replace(made, layout=Sharded.cut((rows, columns), (high, wide), pairs))
        self.buffers.append(made)
        self.addresses.append(address)

    def _add_cb(self, fields: _Fields) -> None:
        total = fields.integer()
        entries = [fields.integers(3) for _ in range(fields.integer())]
        cbs = tuple(CircularBuffer(index, _FORMATS[form], page) for index, form, page in entries)
        buffer = fields.integer()
        name = None if buffer < 0 else f"buffer{buffer}"
        self.circular_buffers.append(CircularBufferConfig(cbs, total, fields.cores(), name))

    def _add_semaphore(self, fields: _Fields) -> None:
        index, initial = fields.integers(2)
        self.semaphores.append(Semaphore(index, initial, fields.cores()))

    def _add_kernel(self, fields: _Fields) -> None:
        index, processor, noc, fp32, full_sync = fields.integers(5)
        words = fields.counted()
        named = {fields.text(): fields.integer() for _ in range(fields.integer())}
        defines = {fields.text(): fields.text() for _ in range(fields.integer())}
        cores = fields.cores()
        path = self._found(fields.rest())
        self.words.append({})
        self.kernels.append(
            KernelSource(
                f"{path.stem}" if not self._is_used(path.stem) else f"{path.stem}_{index}",
                _PROCESSORS[processor],
                cores,
                path=path,
                compile_args=words,
                named_compile_args=named,
                defines=defines,
                noc=None if processor == 2 else noc,
                compute=ComputeConfig(fp32_dest_acc=bool(fp32), dst_full_sync=bool(full_sync)),
            )
        )

    def _is_used(self, name: str) -> bool:
        return any(kernel.name == name for kernel in self.kernels)

    def _found(self, name: str) -> Path:
        for root in self.roots:
            if (root / name).is_file():
                return root / name
        searched = ", ".join(str(root) for root in self.roots)
        raise ProgramError(f"kernel file '{name}' not found in {searched}")

    def _add_args(self, fields: _Fields) -> None:
        index = fields.integer()
        cores = fields.cores()
        words = fields.counted()
        self.words[index].update(dict.fromkeys(cores, words))

    def _add_common(self, fields: _Fields) -> None:
        index = fields.integer()
        kernel = self.kernels[index]
        self.kernels[index] = replace(kernel, common_runtime_args=fields.counted())

    def program(self, name: str, chip: ChipSpec) -> Program:
        """The recorded program; its buffers have the addresses that the host program used."""
        kernels = tuple(
            replace(kernel, runtime_args=words)
            for kernel, words in zip(self.kernels, self.words, strict=True)
        )
        # What no kernel of this program has the address of is for a program after it.
        words = {word for each in self.words for own in each.values() for word in own}
        found = Program(
            name,
            chip,
            tuple(
                replace(buffer, output=buffer.output and address in words)
                for buffer, address in zip(self.buffers, self.addresses, strict=True)
            ),
            kernels,
            tuple(self.circular_buffers),
            tuple(self.semaphores),
        )
        if allocate(found).buffer_addresses != tuple(self.addresses):
            raise ProgramError(f"program '{name}': host and driver disagree about addresses")
        return found


def _chip_file(chip: ChipSpec, request: int, reply: int) -> str:
    columns, rows = chip.grid
    coordinates = (chip.noc_coordinate(x, y) for y in range(rows) for x in range(columns))
    head = (
        *(columns, rows, chip.dram_banks, chip.dram_read_alignment, chip.l1_alignment),
        *(DRAM_BASE, chip.l1_bytes, request, reply),
    )
    return " ".join(str(each) for each in (*head, *(n for pair in coordinates for n in pair)))


def run_host(
    source: Path,
    chip: ChipSpec,
    *,
    kernel_roots: Sequence[Path],
    arguments: Sequence[str] = (),
    include: Sequence[Path] = (),
    defines: Sequence[str] = (),
    options: RunOptions | None = None,
    timeout_seconds: float = 300.0,
    optimise: bool = False,
) -> HostRun:
    """Compile the host program `source` and run it; its workloads run on the machine.

    With `optimise` it takes longer to compile; worth it if the program computes much itself.

    Raises:
        SourceExecutorUnavailable: if the host has no compiler or cannot map L1.
        KernelCompileError: if the host program or a kernel does not compile.
    """
    options = options or RunOptions()
    binary = host_binary(source, tuple(include), tuple(defines), optimise=optimise)
    request, request_end = os.pipe()
    reply_end, reply = os.pipe()
    with tempfile.TemporaryDirectory(dir=work_directory()) as name:
        directory = Path(name)
        (directory / "chip").write_text(_chip_file(chip, request_end, reply_end), encoding="utf-8")
        with (directory / "output").open("wb") as output:
            process = subprocess.Popen(
                [str(binary), *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "TILEWRIGHT_TT_HOST": name},
                pass_fds=(request_end, reply_end),
            )
        os.close(request_end)
        os.close(reply_end)
        programs: list[Program] = []
        results: list[RunResult] = []
        try:
            for _ in _requests(request, timeout_seconds):
                record = _Record(kernel_roots, directory)
                for line in (directory / "program").read_text(encoding="utf-8").splitlines():
                    record.add(line)
                program = record.program(source.stem, chip)
                result = _run(program, directory, options)
                programs.append(program)
                results.append(result)
                os.write(reply, b"x" if result.findings else b"k")
            status = process.wait(timeout=timeout_seconds)
        finally:
            process.kill()
            process.wait()
            os.close(request)
            os.close(reply)
        text = (directory / "output").read_text(encoding="utf-8", errors="replace")
    return HostRun(status, text, tuple(programs), tuple(results))


def _requests(descriptor: int, timeout_seconds: float) -> Iterator[None]:
    """One item for each workload, until the host program ends."""
    end = time.monotonic() + timeout_seconds
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        if not ready or not os.read(descriptor, 1):
            return
        yield


def _run(program: Program, directory: Path, options: RunOptions) -> RunResult:
    inputs: dict[str, bytes] = {}
    for buffer in program.buffers:
        path = directory / buffer.name
        if path.exists():
            inputs[buffer.name] = path.read_bytes().ljust(buffer.total_bytes, b"\0")
    result = run(program, inputs, options)
    for buffer in program.buffers:
        (directory / buffer.name).write_bytes(result.buffers[buffer.name])
    return result
