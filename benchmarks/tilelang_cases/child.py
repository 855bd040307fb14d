"""One case in a process of its own: what it measures by, and what its kernels are compared with.

    python -m benchmarks.tilelang_cases.child SIDE compare|time FILE FUNCTION FOLDER LOCK

The file's own `do_bench` is replaced by ours on both sides, so that both are timed alike. FOLDER
has the arguments and results of TileLang's kernels: written by SIDE tilelang under `compare`, read
by the other. TileLang's kernels run twice: what they give in another order the second time (indices
at positions that atomics return) is compared sorted along the last dimension. Under `time` the file
LOCK is shared by processes that prepare (compile, make inputs, compute references) and held alone
by the one that is being timed: it waits until nothing else runs on the GPU or the host.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

torch: Any = importlib.import_module("torch")

WARMUP, REPEAT = 5, 30
FLUSHED_BYTES = 256 << 20
TOLERANCE = 2e-2
_MAX_MISMATCHED = 1e-3
"""The part of the elements that may differ more: sums in another order near a rounding."""
_FLUSH = "FillFunctor<int>"
"""Part of the name of the kernel that overwrites the cache."""
_KEPT = 4
"""Kernels, in the order of their first calls, that are compared."""


class Recorder:
    """Looks at the first call of each kernel: keeps it for the other side, or compares with it."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        self.folder, self.writes = folder, writes
        self.seen: list[int] = []
        self.compared = 0
        self.is_on = True

    def call(self, kernel: int, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        if not self.is_on or kernel in self.seen or len(self.seen) >= _KEPT:
            return function(*arguments)
        path = self.folder / f"{len(self.seen)}.pt"
        self.seen.append(kernel)
        if self.writes:
            self.folder.mkdir(parents=True, exist_ok=True)
            before = [_copied(each) for each in arguments]
            results = function(*arguments)
            torch.cuda.synchronize()
            after = [_copied(each) for each in arguments]
            kept = [_copied(each) for each in _listed(results)]
            again = [_on_gpu(each) for each in before]
            repeated = _listed(function(*again))
            torch.cuda.synchronize()
            unordered = {
                "argument": _differing(again, after),
                "result": _differing(repeated, kept),
            }
            torch.save(
                {"before": before, "after": after, "results": kept, "unordered": unordered}, path
            )
            return results
        if not path.exists():
            raise AssertionError(f"TileLang called {len(self.seen) - 1} kernels, this is another")
        kept = torch.load(path, weights_only=True)
        inputs = [_on_gpu(each) for each in kept["before"]]
        results = function(*inputs)
        torch.cuda.synchronize()
        self._compare("argument", inputs, kept["after"], kept["unordered"]["argument"])
        self._compare("result", _listed(results), kept["results"], kept["unordered"]["result"])
        self.compared += 1
        return function(*arguments)

    def _compare(
        self, what: str, found: Sequence[Any], expected: Sequence[Any], unordered: Sequence[int]
    ) -> None:
        """Tensors in `unordered` have rows whose order differs from run to run of TileLang's."""
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
                continue
            other = other.cuda()
            if number in unordered:
                one, other = one.sort(dim=-1).values, other.sort(dim=-1).values
            part = _mismatched(one, other)
            if part > _MAX_MISMATCHED:
                raise AssertionError(
                    f"{what} {number} of kernel {len(self.seen) - 1} differs from TileLang's in "
                    f"{part:.1%} of the elements"
                )


def _mismatched(one: Any, other: Any) -> float:
    if one.shape != other.shape or one.dtype != other.dtype:
        return 1.0
    if one.numel() == 0:
        return 0.0
    a, b = one.float(), other.float()
    both = torch.isfinite(a) & torch.isfinite(b)
    scale = b[both].abs().mean() if bool(both.any()) else torch.tensor(1.0)
    near = (a - b).abs() <= TOLERANCE * (b.abs() + scale)
    same = torch.where(both, near, a.isnan() & b.isnan() | (a == b))
    return 1.0 - float(same.float().mean())


def _differing(found: Sequence[Any], expected: Sequence[Any]) -> list[int]:
    """Which tensors a second run with the same arguments gave other values."""
    return [
        number
        for number, (one, other) in enumerate(zip(found, expected, strict=True))
        if isinstance(one, torch.Tensor) and _mismatched(one, other.cuda()) > _MAX_MISMATCHED
    ]


def _on_gpu(value: Any) -> Any:
    return value.cuda() if isinstance(value, torch.Tensor) else value


def _copied(value: Any) -> Any:
    return value.detach().cpu().clone() if isinstance(value, torch.Tensor) else value


def _listed(results: Any) -> list[Any]:
    if results is None:
        return []
    given = cast("list[Any]", results if isinstance(results, (list, tuple)) else [results])
    return list(given)


def measure(fn: Callable[[], Any]) -> float:
    """Milliseconds of the kernels that `fn` starts, by CUPTI; the L2 cache is cold."""
    flushed = torch.empty(FLUSHED_BYTES // 4, dtype=torch.int32, device="cuda")
    for _ in range(WARMUP):
        fn()
    torch.cuda.synchronize()
    with _profile() as recorded:
        for number in range(REPEAT):
            flushed.fill_(number)
            fn()
        torch.cuda.synchronize()
    return sum(map(_device_time, recorded.events() or ())) / REPEAT / 1e3


def _profile() -> Any:
    profiler: Any = importlib.import_module("torch.profiler")
    return profiler.profile(activities=[profiler.ProfilerActivity.CUDA])


def prepare_profiler() -> None:
    """Load CUPTI, which takes seconds the first time, while others prepare, too."""
    with _profile():
        torch.empty(1, device="cuda").fill_(0)
        torch.cuda.synchronize()


@contextmanager
def alone(held: IO[str]) -> Iterator[None]:
    """Inside, no other process holds the lock; before and after, it is shared.

    It is given up in between: two that share it and both want it alone would wait forever.
    """
    torch.cuda.synchronize()
    fcntl.flock(held, fcntl.LOCK_UN)
    fcntl.flock(held, fcntl.LOCK_EX)
    yield
    fcntl.flock(held, fcntl.LOCK_UN)
    fcntl.flock(held, fcntl.LOCK_SH)


def _device_time(event: Any) -> float:
    """Microseconds on the GPU; none for what only overwrites the cache."""
    is_counted = event.device_type == torch.autograd.DeviceType.CUDA
    return event.device_time_total if is_counted and _FLUSH not in event.name else 0.0


def _patch_timing(bench: Callable[..., Any]) -> None:
    """Put `bench` where any module that is loaded has its `do_bench`."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("tilelang", "tilewright")) and callable(
            getattr(module, "do_bench", None)
        ):
            module.do_bench = bench  # pyright: ignore[reportAttributeAccessIssue]


def _patch_theirs(recorder: Recorder) -> None:
    base: Any = importlib.import_module("tilelang.jit.adapter.base")

    original = base.BaseKernelAdapter._post_init

    def _post_init(self: Any) -> None:
        original(self)
        function = self.func

        def func(*arguments: Any) -> Any:
            return recorder.call(id(self), function, arguments)

        self.func = func

    base.BaseKernelAdapter._post_init = _post_init


def _patch_ours(recorder: Recorder) -> None:
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    original = CompiledTileKernel.__call__

    def __call__(self: CompiledTileKernel, *arguments: Any) -> Any:
        return recorder.call(id(self), lambda *given: original(self, *given), arguments)

    CompiledTileKernel.__call__ = __call__


def _let_races_pass() -> None:
    """Measure kernels of which the compiler would say that they have a race: one file has."""
    from tilewright.runtime.tile import kernel
    from tilewright.runtime.tile.pass_configs import PassConfigKey, gpu_settings

    def settings(configs: Any, *rest: Any) -> Any:
        return gpu_settings({PassConfigKey.TL_DISABLE_DATA_RACE_CHECK: True, **configs}, *rest)

    kernel.gpu_settings = settings


def run(
    side: str, mode: str, file: Path, function: str, folder: Path, lock: Path
) -> dict[str, Any]:
    times: list[float] = []
    recorder = Recorder(folder, writes=side == "tilelang")
    held = lock.open("w")

    def bench(fn: Callable[[], Any], *_: Any, **__: Any) -> float:
        if mode == "compare":
            fn()
            torch.cuda.synchronize()
            times.append(1.0)
        else:
            recorder.is_on = False
            if not times:
                prepare_profiler()
                fn()  # whatever is compiled or loaded on the first call
            with alone(held):
                times.append(measure(fn))
        return times[-1]

    if side == "tilewright":
        from tilewright.compat import install

        install()
        _let_races_pass()
        importlib.import_module("tilelang.testing")
        if mode == "compare":
            _patch_ours(recorder)
    else:
        importlib.import_module("tilelang.profiler")
        importlib.import_module("tilelang.testing")
        if mode == "compare":
            _patch_theirs(recorder)
    _patch_timing(bench)
    torch.manual_seed(0)
    sys.path.insert(0, str(file.parent))
    sys.argv = [str(file)]
    module = importlib.import_module(file.stem)
    _patch_timing(bench)
    with held:
        if mode == "time":
            fcntl.flock(held, fcntl.LOCK_SH)
        getattr(module, function)()
    if not times:
        raise AssertionError("the case measured nothing")
    problem = None
    if mode == "compare" and side == "tilewright" and not recorder.compared:
        problem = "no kernel was compared"
    return {"microseconds": sum(times) * 1e3, "compared": recorder.compared, "problem": problem}


def main(arguments: Sequence[str]) -> int:
    side, mode, file, function, folder, lock = arguments
    try:
        found = run(side, mode, Path(file), function, Path(folder), Path(lock))
    except BaseException as error:  # whatever ends a case is its outcome
        traceback.print_exc()
        text = " ".join(str(error).split())[:300]
        found = {"microseconds": None, "compared": 0, "problem": f"{type(error).__name__}: {text}"}
    sys.stdout.write(f"\n@@case {json.dumps(found)}\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
