"""``triton._internal_testing``: what Triton's own tests, and tests modelled on them, share.

Sets of dtype names, random inputs, the way of an array to a tensor and back, and a kernel run in a
process of its own. Which GPU is described is in `hardware`. torch and pytest are imported where
they are used.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.compat import dtype_names
from tilewright.compat.arguments import TensorWrapper, reinterpret
from tilewright.compat.hardware import supports_tma, tma_skip_msg
from tilewright.compat.knobs import base_knobs
from tilewright.language import tl

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes, "bfloat16"]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})

_SEED = 17
_FLOAT8_PATTERNS = (20, 40)
"""Bit patterns that are small positive numbers in every 8-bit format."""


def __getattr__(name: str) -> Any:
    if name != "requires_tma":  # the only name that needs pytest
        raise AttributeError(f"module 'triton._internal_testing' has no attribute {name!r}")
    pytest: Any = importlib.import_module("pytest")
    return pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


def _torch() -> Any:
    return importlib.import_module("torch")


def numpy_random(
    shape: int | Sequence[int],
    dtype_str: str,
    rs: Any = None,
    low: int | None = None,
    high: int | None = None,
) -> Any:
    """Random elements; without `rs` the same ones in every call. Integers are never 0."""
    size = (shape,) if isinstance(shape, int) else tuple(shape)
    random = np.random.RandomState(_SEED) if rs is None else rs
    if dtype_str in integral_dtypes:
        limits = np.iinfo(dtype_str)
        lower = limits.min if low is None else max(low, limits.min)
        upper = limits.max if high is None else min(high, limits.max)
        integers = random.randint(lower, upper, size, dtype=np.dtype(dtype_str).type)
        integers[integers == 0] = 1  # a divisor
        return integers
    if "float8" in dtype_str:
        return random.randint(*_FLOAT8_PATTERNS, size, dtype=np.int8)
    if dtype_str in float_dtypes:
        return random.normal(0, 1, size).astype(dtype_str)
    if dtype_str == "bfloat16":
        bits = random.normal(0, 1, size).astype(np.float32).view(np.uint32)
        return (bits & np.uint32(0xFFFF0000)).view(np.float32)
    if dtype_str in ("bool", "int1", "bool_"):
        return random.normal(0, 1, size) > 0.0
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def random_int(low: int, high: int, *, warmup_value: int | None = None, **options: Any) -> int:
    return int(_torch().randint(low, high, size=(), **options).item())


def random_float(*, warmup_value: float = 0.5, **options: Any) -> float:
    return float(_torch().rand((), **options).item())


def to_triton(x: Any, device: Any, dst_type: str | None = None) -> Any:
    """The array `x` on `device`, as elements of `dst_type` where torch has no such arrays."""
    torch = _torch()
    name = x.dtype.name
    if name in uint_dtypes:
        signed = x.astype(np.dtype(name.removeprefix("u")))
        return reinterpret(torch.tensor(signed, device=device), getattr(tl, name))
    tensor = torch.tensor(x, device=device)
    if dst_type is not None and "float8" in dst_type:
        return reinterpret(tensor, getattr(tl, dst_type))
    return tensor.bfloat16() if (name, dst_type) == ("float32", "bfloat16") else tensor


def to_numpy(x: Any) -> Any:
    """The elements of a tensor, or of the memory of one; bfloat16 as float32."""
    torch = _torch()
    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(np.dtype(torch_dtype_name(x.dtype)))
    if not isinstance(x, torch.Tensor):
        raise ValueError(f"Not a triton-compatible tensor: {x}")
    host = x.cpu()
    return (host.float() if host.dtype is torch.bfloat16 else host).numpy()


def unwrap_tensor(t: Any) -> Any:
    return t.base if isinstance(t, TensorWrapper) else t


def str_to_triton_dtype(x: str) -> tl.dtype:
    return tl.dtype(dtype_names.canonical(x))


def torch_dtype_name(dtype: Any) -> str:
    """``int64`` for ``torch.int64`` and ``tl.int64``."""
    if isinstance(dtype, tl.dtype):
        return repr(dtype).rpartition(".")[2]
    found = re.fullmatch(r"torch\.(\w+)", str(dtype))
    if found is None:
        raise TypeError(f"not a triton or torch dtype: {type(dtype)}")
    return found[1]


def default_alloc_fn(size: int, align: int, stream: object) -> Any:
    torch = _torch()
    return torch.empty(size, dtype=torch.int8, device="cuda")


@dataclass
class ProcessResult:
    """How a function ended in its process, and what it wrote on standard error."""

    exc: BaseException | None
    driver_stderr_output: str


def run_in_process(
    client_fn: Callable[..., object],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> ProcessResult | Any:
    """Call `client_fn` in a copy of this process, where it may fail as it likes."""
    if os.environ.get("DISABLE_SUBPROCESS"):
        return client_fn(*args, **(kwargs or {}))
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as directory:
        written = Path(directory) / "stderr"
        process = context.Process(
            target=_send_result, args=(send, client_fn, args, kwargs or {}, env or {}, written)
        )
        process.start()
        send.close()
        try:
            exception: Any = receive.recv()
        except EOFError:
            process.join()
            raise RuntimeError(f"the process ended with code {process.exitcode}") from None
        process.join()
        return ProcessResult(exception, written.read_text())


def _send_result(
    send: Any,
    client_fn: Callable[..., object],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    env: Mapping[str, str],
    written: Path,
) -> None:
    os.environ.update(env)
    with written.open("w") as stream:
        os.dup2(stream.fileno(), 2)
        try:
            client_fn(*args, **kwargs)
        except Exception as error:
            send.send(error)
        else:
            send.send(None)


@contextmanager
def use_process_pool(preload_module: str) -> Generator[None]:
    """Processes are copies of this one, with its modules: no pool is needed."""
    yield


def _fresh_knobs_impl(  # pyright: ignore[reportUnusedFunction]
    skipped_attr: set[str] | None = None,
) -> tuple[Callable[[], Any], Callable[[], None]]:
    """Two functions: one takes every setting back to its default, the other undoes that."""
    module = importlib.import_module("tilewright.compat.knobs")
    groups = [
        group
        for name, group in vars(module).items()
        if isinstance(group, base_knobs) and name not in (skipped_attr or ())
    ]
    before = {group: group.state() for group in groups}

    def fresh() -> Any:
        for group in groups:
            group.clear()
        return importlib.import_module("triton").knobs

    def reset() -> None:
        for group, state in before.items():
            group.restore(state)

    return fresh, reset
