"""Random `tl` kernels on the GPU of this machine, against plain NumPy.

    python -m tests.fuzz.tl.device --seeds 100000:103000 --jobs 16 --time-limit 300 --json out.json

Every seed is compiled by the installed Triton and launched by a worker process; outputs are
poisoned, and every array lies between guards that a stray store would change. A fault of the GPU
ends its worker alone: the seed is recorded, and a new worker takes the next one. What did not end
right is run once more with Triton's own front end, as a second opinion. Without a GPU,
`--compile-only` makes machine code for sm_90 and runs nothing.

    right      every element of every array is what NumPy says
    refused    an error of Tilewright, with its code
    triton     an error of Triton, LLVM or the assembler
    internal   a TW9... error, or an exception that is no error message
    wrong      another value, or a guard that changed
    fault      an error of the GPU, or a worker that died or did not answer

`wrong`, `fault` and `triton` become `theirs` where Triton's own front end ends in the same words: a
kernel that is right has then met a fault of Triton, or the generator made one that is not.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.tl.generator import FAMILIES, Case, generate
from tests.fuzz.tl.running import OURS, TRITONS, described, differences, expected

GUARD_BYTES = 512
GUARD = 0xA5
ANSWER = "@@"
GPU = "/dev/nvidiactl"
"""There where the driver is."""
SECONDS = 90
"""What one seed may take."""
_TRITONS_CODES = ("TW6202", "TW6203", "TW6210")
BAD = ("wrong", "fault", "internal", "triton")


@dataclass
class Answer:
    """How one seed ended."""

    seed: int
    front: str
    status: str
    detail: str = ""
    seconds: float = 0.0


# -- worker --------------------------------------------------------------------------------------


class Guarded:
    """An array in the middle of an allocation on the GPU."""

    def __init__(self, array: np.ndarray, is_shifted: bool) -> None:
        import torch

        self.dtype, self.bytes = array.dtype, array.nbytes
        self.start = GUARD_BYTES + (array.dtype.itemsize if is_shifted else 0)
        whole = np.full(2 * GUARD_BYTES + self.bytes + array.dtype.itemsize, GUARD, np.uint8)
        whole[self.start : self.start + self.bytes] = array.view(np.uint8)
        self.whole = torch.from_numpy(whole).cuda()
        kind = getattr(torch, np.dtype(array.dtype).name)
        self.tensor = self.whole[self.start : self.start + self.bytes].view(kind)

    def read(self) -> tuple[np.ndarray, bool]:
        """The array, and whether its surroundings are as they were."""
        whole = self.whole.cpu().numpy()
        end = self.start + self.bytes
        is_intact = bool((whole[: self.start] == GUARD).all() and (whole[end:] == GUARD).all())
        return whole[self.start : end].view(self.dtype), is_intact


def kernel_of(case: Case, front: str, folder: Path) -> Any:
    """The kernel in a file of its own, where both front ends find its text."""
    path = folder / f"kernel_{front}_{case.seed}.py"
    path.write_text((OURS if front == "tilewright" else TRITONS) + case.source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def _descriptor_class(front: str) -> Any:
    if front == "tilewright":
        import tilewright as tw

        return tw.TensorDescriptor
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor


def compile_only(case: Case, folder: Path) -> list[str]:
    given = described(case, case.arrays(), _descriptor_class("tilewright"))
    compiled = kernel_of(case, "tilewright", folder).warmup(
        *given, *case.scalars.values(), **case.constants, grid=case.grid, num_warps=case.num_warps,
        num_stages=case.num_stages, target="triton:sm_90",
    )  # fmt: skip
    return [] if compiled.asm["cubin"][:4] == b"\x7fELF" else ["no machine code"]


def launch(case: Case, front: str, folder: Path) -> list[str]:
    """What is wrong with the arrays after a launch on the GPU."""
    import torch

    if front == "triton":
        import triton

        def allocate(size: int, alignment: int, stream: Any) -> Any:
            del alignment, stream
            return torch.empty(size, dtype=torch.int8, device="cuda")

        triton.set_allocator(allocate)
    shifted = {each.name: each.is_shifted for each in case.arguments}
    guarded = {name: Guarded(array, shifted[name]) for name, array in case.arrays().items()}
    tensors = {name: each.tensor for name, each in guarded.items()}
    given = described(case, tensors, _descriptor_class(front))
    kernel_of(case, front, folder)[case.grid](
        *given, *case.scalars.values(), **case.constants,
        num_warps=case.num_warps, num_stages=case.num_stages,
    )  # fmt: skip
    torch.cuda.synchronize()
    read = {name: each.read() for name, each in guarded.items()}
    stray = [
        f"bytes around {name} changed" for name, (_, is_intact) in read.items() if not is_intact
    ]
    found = {name: array for name, (array, _) in read.items()}
    return stray + differences(found, expected(case))


def attempt(
    seed: int, front: str, folder: Path, *, family: str = "plain", only_compile: bool = False
) -> Answer:
    start = time.perf_counter()
    try:
        case = generate(seed, family)
        problems = compile_only(case, folder) if only_compile else launch(case, front, folder)
        status, detail = ("wrong", "; ".join(problems)) if problems else ("right", "")
    except Exception as error:  # what ends a seed must not end the others
        status, detail = _classified(error, front)
    return Answer(seed, front, status, detail, round(time.perf_counter() - start, 3))


def _classified(error: Exception, front: str) -> tuple[str, str]:
    kind, text = type(error).__name__, str(error)
    line = f"{kind}: {text}"[:1500]
    if "CudaError" in kind or "CUDA error" in text or "AcceleratorError" in kind:
        return "fault", line
    if front == "triton":
        return "triton", line
    codes = [each.code or "" for each in getattr(error, "diagnostics", ())]
    if any(each.startswith("TW9") for each in codes):
        return "internal", line
    if any(each in _TRITONS_CODES for each in codes):
        return "triton", line
    return ("refused" if codes else "internal"), line


def work(family: str, only_compile: bool) -> None:
    """Answer seeds from standard input until it ends or the GPU is lost."""
    with tempfile.TemporaryDirectory() as name:
        for line in sys.stdin:
            seed, front = json.loads(line)
            answer = attempt(seed, front, Path(name), family=family, only_compile=only_compile)
            print(ANSWER + json.dumps(asdict(answer)), flush=True)
            if answer.status == "fault":
                return


# -- parent --------------------------------------------------------------------------------------


def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


class Worker:
    """A process that answers seeds; a new one is started when it is gone."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.command, self.environment = command, environment
        self.process: subprocess.Popen[str] | None = None

    def ask(self, seed: int, front: str) -> Answer:
        process = self.process or self._start()
        assert process.stdin is not None
        start = time.perf_counter()
        try:
            process.stdin.write(json.dumps([seed, front]) + "\n")
            process.stdin.flush()
            answer = self._answer(start + SECONDS)
        except BrokenPipeError:
            answer = None
        if answer is None:
            code, tail = self._end()
            return Answer(seed, front, "fault", f"the worker ended ({code}): {tail}", SECONDS)
        if answer.status in ("triton", "internal"):
            answer.detail += self._said()
        if answer.status == "fault":
            self._end()
        return answer

    def _said(self) -> str:
        """The end of what the worker wrote to standard error, where MLIR's errors are."""
        self.errors.seek(0, os.SEEK_END)
        end = self.errors.tell()
        self.errors.seek(max(0, end - 3000))
        text = self.errors.read()
        self.errors.seek(end)
        lines = [line for line in text.splitlines() if "error:" in line]
        return "\n" + "\n".join(lines[-2:])

    def _start(self) -> subprocess.Popen[str]:
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115, closed with the worker
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            text=True, bufsize=1, env=self.environment,
        )  # fmt: skip
        # A line may be in a buffer of ours while the pipe is empty, so a thread reads them.
        self.lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(self.process, self.lines), daemon=True).start()
        return self.process

    def _answer(self, deadline: float) -> Answer | None:
        """The next answer; None if the worker is gone or the time is up."""
        while (left := deadline - time.perf_counter()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                return None
            if line is None:
                return None
            if line.startswith(ANSWER):
                return Answer(**json.loads(line[len(ANSWER) :]))
        return None

    def _end(self) -> tuple[str, str]:
        process, self.process = self.process, None
        if process is None:
            return "", ""
        if process.poll() is None:
            process.kill()
        process.wait()
        self.errors.seek(0)
        tail = self.errors.read()[-1500:]
        self.errors.close()
        return str(process.returncode), tail

    def _end_quietly(self) -> None:
        assert self.process is not None
        self.process.wait()
        self.errors.close()

    def close(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self._end_quietly()


def run_all(
    jobs: Sequence[tuple[int, str]], count: int, family: str, only_compile: bool, deadline: float
) -> list[Answer]:
    """The answers to all seeds for which there was time, by `count` workers."""
    waiting: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    answers: list[Answer] = []
    command = [sys.executable, "-m", "tests.fuzz.tl.device", "--worker", "--family", family]
    command += ["--compile-only"] if only_compile else []

    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": cache, "TILEWRIGHT_COMPILE": "inline",
                       "TRITON_CACHE_DIR": cache + "/triton", "OMP_NUM_THREADS": "1",
                       "PYTHONWARNINGS": "ignore"}  # fmt: skip

        def serve() -> None:
            worker = Worker(command, environment)
            while time.monotonic() < deadline:
                try:
                    seed, front = waiting.get_nowait()
                except queue.Empty:
                    break
                answers.append(worker.ask(seed, front))
            worker.close()

        threads = [threading.Thread(target=serve) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sorted(answers, key=lambda each: each.seed)


def _agree(ours: Answer, theirs: Answer) -> bool:
    """Whether Triton's own front end fails in the same way."""
    if ours.status in ("triton", "fault"):
        return theirs.status == ours.status
    return ours.status == "wrong" and ours.detail == theirs.detail


def summary(answers: Sequence[Answer], opinions: dict[int, Answer]) -> str:
    """A table of how seeds ended, and a line for each that needs a look."""
    counts = Counter(each.status for each in answers)
    lines = ["  ".join(f"{status} {number}" for status, number in sorted(counts.items()))]
    for each in answers:
        if each.status != "right":
            first = next(iter(each.detail.splitlines()), "")
            opinion = opinions.get(each.seed)
            beside = f"  [Triton's own front end: {opinion.status}]" if opinion else ""
            lines.append(f"{each.seed}: {each.status}: {first[:200]}{beside}")
    return "\n".join(lines)


def _seeds(text: str) -> list[int]:
    first, colon, last = text.partition(":")
    return list(range(int(first), int(last))) if colon else [int(each) for each in text.split(",")]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--seeds", type=_seeds, default=_seeds("100000:103000"), help="A:B or A,B,C"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--time-limit", type=float, default=540.0, help="seconds")
    parser.add_argument("--json", type=Path, help="where to write every answer")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--family", choices=FAMILIES, default="plain", help="which generator")
    parser.add_argument("--front", choices=("tilewright", "triton"), default="tilewright")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.worker:
        work(options.family, options.compile_only)
        return 0
    if not options.compile_only and not Path(GPU).exists():
        print("no GPU here; --compile-only compiles and runs nothing", file=sys.stderr)
        return 2
    start = time.monotonic()
    deadline = start + options.time_limit
    jobs = [(seed, options.front) for seed in options.seeds]
    answers = run_all(jobs, options.jobs, options.family, options.compile_only, deadline)
    doubtful = [(each.seed, "triton") for each in answers if each.status in BAD]
    opinions: dict[int, Answer] = {}
    if doubtful and not options.compile_only and options.front == "tilewright":
        more = run_all(doubtful, options.jobs, options.family, False, deadline + 60)
        opinions = {each.seed: each for each in more}
    for each in answers:
        other = opinions.get(each.seed)
        if other is not None and _agree(each, other):
            each.status = "theirs"
    print(summary(answers, opinions))
    print(f"{len(answers)} of {len(options.seeds)} seeds in {time.monotonic() - start:.0f} s")
    if options.json:
        told = [{**asdict(each), "opinion": asdict(opinions[each.seed]) if each.seed in opinions
                 else None} for each in answers]  # fmt: skip
        options.json.write_text(json.dumps(told, indent=1))
    return int(any(each.status in BAD for each in answers))


if __name__ == "__main__":
    sys.exit(main())
