"""All of TileLang's example files, unmodified, under `tilewright.compat`: how each of them ends.

    python -m scripts.upstream.tilelang_examples CHECKOUT [--only PART ...] [--skip PART ...]
                                                 [--sample N --seed S] [--jobs N] [--limit SECONDS]
                                                 [--details FILE] [--compile]

Each file is run as a script, without arguments, in a process of its own. Where it does not finish
within the limit, or at once with `--compile`, its kernels are compiled to CUDA for their chip
instead of run (results are then arbitrary, so what the file itself finds wrong does not count):

    ran             the file came to its end, and its own checks accept the results
    traced          every kernel that it reached was traced to IR and compiled for its chip
    package absent  it needs a package that is not installed, or a GPU library
    reported        a check found a fault of the file: a race, an access out of bounds, a read of
                    memory that nothing wrote; its code and sentence follow
    refused         another diagnostic
    fault           an exception of ours that is no diagnostic, a TW90 code, a wrong number
    file            an error of the file itself: an exception that has nothing to do with kernels
    time            nothing was compiled within the limit
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from scripts.upstream.result import SuiteResult, sampled, write_json
from scripts.upstream.warm import SETTINGS, Job, Warm, serve
from tilewright.compat.finder import TARGET_VARIABLE

SUITE = "tilelang examples"
_MODULE = "scripts.upstream.tilelang_examples"
DIRECTORY = Path("examples")
ROOT = Path(__file__).resolve().parents[2]
STAND_INS = ROOT / "scripts" / "stand_ins"
_GRACE = 15.0
"""Seconds that a process may take after its alarm."""
_QUIET = 20
"""Seconds without a new kernel after which a file whose kernels are compiled has shown them."""
_ALL_SKIPPED = 5
"""What pytest ends with where the file's own marks skip all of its tests."""
_ONLY_ON_GPUS = "TW6001"
"""The code of what a kernel contains that only a GPU executes: it is compiled instead."""
_ACCEPTED = ("ran", "traced")
_FINDING = re.compile(r"TW(61|304|408)")
"""Codes of what checks find in a file: at run time, of memory and between threads."""
_OTHERS = ("tilelang", "tvm", "triton")
"""Packages that compat replaces: a part of them that is missing is a refusal."""


KNOWN: Mapping[str, str] = {
    "autodd/tilelang_buggy.py": "wrong on purpose: the input of a tool that shortens such files",
    "aws/flash_attention.py": "T.annotate_ws_schedule: which warps do what is not taken from a "
    "program without T.ws",
    "aws/gemm.py": "T.annotate_ws_schedule: which warps do what is not taken from a program "
    "without T.ws",
    "bitnet-1.58b/kernel_benchmark/tilelang_bitnet_158_int8xint2_prefill.py": "writes MMAs of "
    "4-bit integers itself, with a part of TileLang's own lowering",
    "deepseek_mla/example_mla_decode_ws.py": "its second warp group reads sum_exp_shared with "
    "no barrier after the first one's write: a data race",
    "deepseek_v32/sparse_mla_fwd_pipelined.py": "its second warp group reads sum_exp_shared with "
    "no barrier after the first one's write: a data race",
    "dsa_sparse_finetune/indexer_bwd.py": "it adds to dIndexK, an output that nothing has set to "
    "zero",
    "flash_decoding/example_gqa_decode_varlen_logits.py": "it reads elements of S_shared past "
    "the end of a sequence, which nothing wrote",
    "flash_decoding/test_example_flash_decoding.py": "example_gqa_decode_varlen_logits.py reads "
    "elements of S_shared past the end of a sequence, which nothing wrote",
    "gemm_fp8/example_tilelang_gemm_amd_fp8_preshuffle.py": "writes MFMAs itself, with a part of "
    "TileLang's own lowering to AMD's GPUs",
    "gemm_sp/*.py": "its compressor reads and writes element 2 of nz_idx, an array of each thread "
    "with 2 elements",
    "gemm_sm120/sm120_nvfp4_blockscaled_gemm.py": "T.mma_gemm_blockscaled: block scales of sm_120",
    "attention_sink/test_example_attention_sink.py": "it writes 64 elements of sinks, which has "
    "one for each head",
    "grouped_gemm/test_example_grouped_gemm.py": "tensors of pointers are not supported: the size "
    "of what they point to is unknown",
    "grouped_gemm/example_grouped_gemm_fwd_ptr.py": "tensors of pointers are not supported: "
    "the size of what they point to is unknown",
    "minference/example_vertical_slash_sparse_attn.py": "it compiles a CUDA extension of torch",
    "minference/test_vs_sparse_attn.py": "it compiles a CUDA extension of torch",
}
"""Why files are refused, where that stays so."""


TARGETS: Mapping[str, str] = {
    "aws/*": "cuda:100",
    "*sm100*": "cuda:100",
    "gemm_tcgen05/gemm_tcgen5*": "cuda:100",
    "*sm120*": "cuda:120",
}
"""The GPU that files find described, by patterns of their paths; for all others it is Hopper."""


@dataclass(frozen=True)
class Ending:
    """How one file ended."""

    file: str
    ending: str
    reason: str = ""
    kernels: int = 0
    seconds: float = 0.0


def known(file: str) -> str:
    """Why a file is refused, where that is listed; empty where it is not."""
    return next((reason for pattern, reason in KNOWN.items() if fnmatch(file, pattern)), "")


def run(
    checkout: Path,
    *,
    jobs: int = 1,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    limit: float = 120.0,
) -> SuiteResult:
    """The endings of all files, by directory."""
    return summary(checkout, endings(checkout, jobs=jobs, only=only, skip=skip, limit=limit))


def summary(checkout: Path, found: Sequence[Ending]) -> SuiteResult:
    """Counts by directory, and the reasons of everything that did not run."""
    counts: dict[str, Counter[str]] = {}
    for each in found:
        group = each.file.rpartition("/")[0] or "."
        counts.setdefault(group, Counter())[each.ending] += 1
    reasons = Counter(
        f"{e.ending}: {known(e.file) or e.reason}" for e in found if e.ending not in _ACCEPTED
    )
    return SuiteResult(SUITE, checkout, tuple(sorted(counts.items())), reasons)


def endings(
    checkout: Path,
    *,
    jobs: int,
    only: Sequence[str],
    limit: float,
    skip: Sequence[str] = (),
    sample: int | None = None,
    seed: int = 0,
    compiling: bool = False,
) -> tuple[Ending, ...]:
    """Run the files that `only` names (parts of paths; all without) and `skip` does not."""
    directory = (checkout / DIRECTORY).resolve()
    names = [str(path.relative_to(directory)) for path in sorted(directory.rglob("*.py"))]
    chosen = [name for name in names if not only or any(part in name for part in only)]
    chosen = [name for name in chosen if not any(part in name for part in skip)]
    chosen = sampled(chosen, sample, seed)
    found: list[Ending] = []

    local = threading.local()

    def ending(name: str) -> Ending:
        target = next((gpu for pattern, gpu in TARGETS.items() if fnmatch(name, pattern)), "")
        warm: dict[str, Warm] = local.__dict__.setdefault("warm", {})
        if target not in warm:
            env = {**SETTINGS, TARGET_VARIABLE: target} if target else SETTINGS
            warm[target] = servers.enter_context(Warm(_MODULE, env))
        return _ending(warm[target], directory, name, limit, compiling=compiling)

    with ExitStack() as servers, ThreadPoolExecutor(jobs) as pool:
        for ended in pool.map(ending, chosen):
            found.append(ended)
            sys.stdout.write(
                f"[{len(found)}/{len(chosen)}] {ended.file}: {ended.ending} "
                f"({ended.kernels} kernels, {ended.seconds:.0f} s) {ended.reason}\n"
            )
            sys.stdout.flush()
    return tuple(found)


def _ending(warm: Warm, directory: Path, name: str, limit: float, *, compiling: bool) -> Ending:
    if not compiling:
        first = _attempt(warm, directory, name, limit, compiling=False)
        if first.ending != "time" and not first.reason.startswith(_ONLY_ON_GPUS):
            return first
    return _attempt(warm, directory, name, limit, compiling=True)


def _attempt(warm: Warm, directory: Path, name: str, limit: float, *, compiling: bool) -> Ending:
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch) / "record.json"
        job = {
            "path": str(directory / name),
            "record": str(record),
            "limit": limit,
            "compiling": compiling,
        }
        start = time.monotonic()
        _, output = warm.run(
            job,
            directory=scratch,
            env={"TILELANG_CACHE_DIR": f"{scratch}/cache"},
            limit=limit + _GRACE,
        )
        last = "\n".join(output.splitlines()[-1:])
        seconds = time.monotonic() - start
        if not record.exists():
            return Ending(name, "time", f"no record: {last[:160]}", 0, seconds)
        fields = json.loads(record.read_text())
        return Ending(name, fields["ending"], fields["reason"], fields["kernels"], seconds)


# -- one file, in a process of its own -------------------------------------------------------------


class _TimeLimit(BaseException):
    """The file ran past the limit."""


def _serve() -> None:
    """What most files import, once for all of them."""
    from tilewright.compat import install

    install()
    sys.path.append(str(STAND_INS))
    with suppress(ImportError):
        importlib.import_module("torch")
    importlib.import_module("tilelang").jit  # noqa: B018

    def perform_job(job: Job) -> None:
        perform(Path(job["path"]), Path(job["record"]), job["limit"], compiling=job["compiling"])

    serve(perform_job)


def perform(path: Path, record: Path, limit: float, *, compiling: bool) -> None:
    """Run `path` as a script and write to `record` how it ended."""
    from tilewright.compat.script import run_file

    seen: list[str] = []
    if compiling:
        _compile_instead(seen, record, int(limit))
        _leave_out_references()

    def stop(*_: object) -> None:
        raise _TimeLimit

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(limit))
    failures = _failures_of_tests(path)
    ending, reason = "ran", ""
    try:
        run_file(str(path), ())
    except SystemExit as end:
        if end.code == _ALL_SKIPPED:
            ending, reason = "package absent", "its marks require another GPU or package"
        elif end.code not in (None, 0):
            ending, reason = "file", f"exit status {end.code}"
            if failures:
                ending, reason = min(failures, key=lambda each: _GRAVITY.index(each[0]))
    except BaseException as error:
        signal.alarm(0)
        traceback.print_exc()
        ending, reason = _classify(error, path)
    signal.alarm(0)
    is_judged = ending in ("refused", "reported") or (
        ending == "fault" and not _is_about_results(reason)
    )
    if compiling and seen and not is_judged:
        ending = "traced"
    elif compiling and reason.startswith("AssertionError"):
        ending, reason = "time", "limit"  # its numbers are arbitrary, and it compiled nothing
    fields = {"ending": ending, "reason": reason, "kernels": len(seen)}
    record.write_text(json.dumps(fields))
    sys.stdout.flush()
    os._exit(0)  # threads of a file that did not end


_GRAVITY = ("fault", "refused", "reported", "file", "time", "package absent")
"""Which of several failures of a file of tests counts."""


def _failures_of_tests(path: Path) -> list[tuple[str, str]]:
    """A list that gets the endings of tests that fail, where `path` runs pytest on itself."""
    import pytest

    found: list[tuple[str, str]] = []

    class Recorder:
        def pytest_exception_interact(self, call: pytest.CallInfo[None]) -> None:
            if call.excinfo is not None:
                found.append(_classify(call.excinfo.value, path))

    run = pytest.main

    def main(args: Any = None, plugins: Sequence[object] | None = None) -> Any:
        return run(args, [*(plugins or ()), Recorder()])

    pytest.main = main
    return found


def _is_about_results(reason: str) -> bool:
    return reason.startswith("values")


def _leave_out_references() -> None:
    """Made-up inputs are zeros, and products of torch have arbitrary values: both take minutes."""
    from tilewright.runtime.tile import profiler
    from tilewright.runtime.tile.input_generators import TensorSupplyType, get_tensor_supply

    profiler.get_tensor_supply = lambda _, *rest: get_tensor_supply(TensorSupplyType.Zero, *rest)

    def only_the_kernel(self: Any, _: Any, given: Any) -> tuple[list[Any], list[Any]]:
        self.kernel(*(self.inputs() if given is None else given))
        return [], []

    def one_run(self: Any, func: Any = None, *_: Any, **options: Any) -> float:
        if func is None:
            only_the_kernel(self, None, options.get("input_tensors"))
        return 1.0

    profiler.Profiler._results = only_the_kernel
    profiler.Profiler.do_bench = one_run
    torch = sys.modules.get("torch")
    if torch is None:
        return
    functional = torch.nn.functional
    heavy = {
        *(torch.matmul, torch.mm, torch.bmm, torch.baddbmm, torch.einsum, torch.addmm),
        *(torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.mm, torch.Tensor.bmm),
        *(torch.softmax, torch.Tensor.softmax, functional.softmax, functional.linear),
        *(functional.scaled_dot_product_attention, functional.conv1d, functional.conv2d),
        *(torch.exp, torch.Tensor.exp, torch.topk, torch.Tensor.topk),
    }

    class ByShape(torch.overrides.TorchFunctionMode):  # type: ignore[name-defined, misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = kwargs or {}
            tensors = torch.utils._pytree.tree_leaves((args, given))
            tensors = [each for each in tensors if isinstance(each, torch.Tensor)]
            if func not in heavy or "out" in given:
                return func(*args, **given)
            to_meta = torch.utils._pytree.tree_map_only(
                torch.Tensor, lambda tensor: tensor.detach().to("meta"), (args, given)
            )
            found = func(*to_meta[0], **to_meta[1])
            learned = [each for each in tensors if each.requires_grad]
            device = tensors[0].device

            def zeros(shape: Any) -> Any:
                made = torch.zeros_like(shape, device=device)
                for each in learned if made.is_floating_point() else ():
                    # A gradient reaches what is learned: it is zero too.
                    made = made + (each[(0,) * each.ndim] * 0).to(made.dtype)
                return made

            return torch.utils._pytree.tree_map_only(torch.Tensor, zeros, found)

    ByShape().__enter__()


def _compile_instead(seen: list[str], record: Path, limit: int) -> None:
    """A launch compiles the kernel for its chip, once, and leaves its tensors as they are.

    Where the file's own code then takes too long, what was compiled until then counts: the process
    ends at the limit, and some seconds after the last kernel.
    """
    from tilewright.runtime.tile.kernel import CompiledTileKernel
    from tilewright.runtime.tile.targets import default_arch
    from tilewright.targets.cuda.compile import compile_as

    done: set[Any] = set()

    def compiled(self: CompiledTileKernel, values: Sequence[Any]) -> None:
        named = self.target.startswith("cuda:")
        arch = self.target.partition(":")[2] if named else default_arch(self.prim_func.module)
        key = (self.prim_func.script(), self.settings_for(arch))
        if key not in done:
            done.add(key)
            signal.alarm(limit)
            compile_as(self.prim_func.module, self.settings_for(arch))
            signal.alarm(_QUIET)
            seen.append(self.name)
            fields = {"ending": "traced", "reason": "limit", "kernels": len(seen)}
            record.write_text(json.dumps(fields))

    CompiledTileKernel.launch = compiled
    CompiledTileKernel.build = lambda self: compiled(self, ())


def _classify(error: BaseException, path: Path) -> tuple[str, str]:
    """The ending that an exception means, and its sentence."""
    if isinstance(error, _TimeLimit):
        return "time", "limit"
    text = " ".join(str(error).split())
    kind = type(error).__name__
    code = re.search(r"error\[(TW\d+)\]", text)
    if code is not None:
        ending = "reported" if _FINDING.match(code[1]) else "refused"
        ending = "fault" if code[1].startswith("TW90") else ending
        return ending, f"{code[1]}: {text.partition(code[0])[2][:160].strip(': ')}"
    if kind == "FrontendError":
        return "refused", f"{getattr(error, 'code', '')}: {text[:160]}"
    if "does not offer" in text or re.search(r"\bT has no attribute|T\.\w+ is not supported", text):
        return "refused", text[:160]
    if isinstance(error, ModuleNotFoundError | ImportError):
        package = (error.name or "").partition(".")[0]
        if package not in _OTHERS:
            return "package absent", package or text[:160]
    if isinstance(error, NameError) and (package := _absent_package(error.name, path)):
        return "package absent", package
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(ROOT / "src")
    if kind == "AssertionError" and re.search(r"not close|Mismatched|not equal", text):
        return "fault", f"values: {text[:120]}"
    if kind == "AssertionError" and frames and frames[-1].filename.endswith("/allclose.py"):
        return "fault", f"values: {text[:120]}"
    if frames and frames[-1].filename.startswith(ours) and not _is_call_of_torch(frames[-1]):
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        return "fault", f"{kind} at {where}: {text[:140]}"
    return "file", f"{kind}: {text[:160]}"


def _is_call_of_torch(frame: traceback.FrameSummary) -> bool:
    """Whether torch itself refuses what a file calls it with: calls go through `torch_devices`."""
    is_between = Path(frame.filename).name == "torch_devices.py"
    return is_between and "func(*" in (frame.line or "")


def _absent_package(name: str | None, path: Path) -> str | None:
    """The package that is not installed and that `path` imports `name` from, inside a try."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        package = node.module.partition(".")[0]
        names = [each.asname or each.name for each in node.names]
        if name in names and importlib.util.find_spec(package) is None:
            return package
    return None


def _case(ended: Ending) -> Mapping[str, Any]:
    return {**asdict(ended), "known": known(ended.file)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=[], help="parts of paths")
    parser.add_argument("--skip", nargs="*", default=[], help="parts of paths that are left out")
    parser.add_argument("--sample", type=int, help="so many of the files, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a file")
    parser.add_argument("--json", type=Path, help="write the result, with all reasons, there")
    parser.add_argument("--compile", action="store_true", help="compile kernels, run none")
    parser.add_argument("--details", type=Path, help="write every file's ending to this file")
    given = parser.parse_args(arguments)
    if given.serve:
        _serve()
        return 0
    start = time.monotonic()
    found = endings(
        given.checkout,
        jobs=given.jobs,
        only=given.only,
        skip=given.skip,
        limit=given.limit,
        sample=given.sample,
        seed=given.seed,
        compiling=given.compile,
    )
    if given.details is not None:
        rows = (f"{e.ending}\t{e.file}\t{e.kernels}\t{e.seconds:.0f}\t{e.reason}\n" for e in found)
        given.details.write_text("".join(rows))
    result = summary(given.checkout, found)
    if given.json is not None:
        write_json(given.json, result, [_case(each) for each in found])
    for reason, count in result.reasons.most_common(60):
        sys.stdout.write(f"{count:5} {reason}\n")
    totals = Counter(each.ending for each in found)
    line = ", ".join(f"{n} {ending}" for ending, n in sorted(totals.items()))
    sys.stdout.write(f"all: {line}; {time.monotonic() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
