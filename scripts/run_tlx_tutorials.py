"""Run TLX's AMD tutorials, unmodified, on the CPU; or compile them with the installed Triton.

    .venv/bin/python scripts/run_tlx_tutorials.py DIRECTORY [NAME...]
    .venv/bin/python scripts/run_tlx_tutorials.py DIRECTORY --target triton:gfx950 [NAME...]

DIRECTORY is `third_party/tlx/tutorials` of facebookexperimental/triton, from a clone or a source
archive. `triton` and `triton.language.extra.tlx` are served by `tilewright.compat`, torch by
`numpy_torch`: neither is needed, and no GPU. Each tutorial runs by its own host code on a small
problem, with two schedules, and is compared with NumPy; or its kernels are compiled for that
problem, and their registers, spills and LDS are printed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

Array = Any
Pairs = Iterator[tuple[Array, Array]]
_PACKAGE = "triton.language.extra.tlx.tutorials"
_IMPORTED = re.compile(rf"^from {re.escape(_PACKAGE)}\.([\w.]+) import", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A tutorial, and how to run it: pairs of a result and what it has to be."""

    name: str
    path: str
    run: Callable[[ModuleType, Any], Pairs]
    arch: str = "gfx950"


def single(array: Array) -> Array:
    return np.asarray(array, np.float32)


# -- GEMM ----------------------------------------------------------------------------------------


def gemm(
    shape: tuple[int, int, int], *, turned: bool = False, **options: Any
) -> Callable[[ModuleType, Any], Pairs]:
    """`matmul(a, b)` on a problem of `shape`; `turned`: B has K contiguous."""

    def run(module: ModuleType, torch: Any) -> Pairs:
        m, n, k = shape
        a = torch.randn((m, k), dtype=torch.float16)
        b = (
            torch.randn((n, k), dtype=torch.float16).t()
            if turned
            else torch.randn((k, n), dtype=torch.float16)
        )
        yield module.matmul(a, b, **options), single(a) @ single(b)

    return run


def addmm(module: ModuleType, torch: Any) -> Pairs:
    a, b = (
        torch.randn((256, 128), dtype=torch.float16),
        torch.randn((128, 128), dtype=torch.float16),
    )
    bias = torch.randn((128,), dtype=torch.float16)
    yield module.addmm(bias, a, b), single(bias) + single(a) @ single(b)


def addmm_split(module: ModuleType, torch: Any) -> Pairs:
    a, b = (
        torch.randn((256, 256), dtype=torch.float16),
        torch.randn((256, 256), dtype=torch.float16).t(),
    )
    bias = torch.randn((256,), dtype=torch.float16)
    yield module.addmm(bias, a, b, SPLIT_K=2), single(bias) + single(a) @ single(b)


def bmm(m: int, n: int, k: int) -> Callable[[ModuleType, Any], Pairs]:
    def run(module: ModuleType, torch: Any) -> Pairs:
        a, b = module.make_bmm_inputs(2, m, n, k, "cuda")
        yield module.bmm(a, b), single(a) @ single(b)

    return run


def grouped(module: ModuleType, torch: Any) -> Pairs:
    shapes = [(256, 256, 256), (128, 128, 128), (33, 128, 64)]
    left = [torch.randn((m, k), dtype=torch.float16) for m, n, k in shapes]
    right = [torch.randn((n, k), dtype=torch.float16).t() for m, n, k in shapes]
    import tilewright as tw

    arguments = module._make_grouped_gemm_args(left, right, None)
    with tw.reachable(*left, *right, *arguments[-1]):
        module._perf_fn(*arguments[:-1])
    for a, b, c in zip(left, right, arguments[-1], strict=True):
        yield c, single(a) @ single(b)


def glu(module: ModuleType, torch: Any) -> Pairs:
    m, n = 256, module.N
    for k in sorted(module.BASELINE_BEST_CONFIG)[:1]:
        a, b = torch.randn((m, k), dtype=torch.float16), torch.randn((k, n), dtype=torch.float16)
        bias, y = torch.randn((n,), dtype=torch.float16), torch.randn((m, n), dtype=torch.float16)
        linear = single(a) @ single(b) + single(bias)
        for name, kernel in module.KERNEL_REGISTRY.items():
            print(f"    {name}", flush=True)
            yield kernel(a, b, bias, y), linear * single(y) + linear


_FOUR_BITS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)


def unpacked(codes: Array, scales: Array) -> Array:
    """Rows of e2m1 pairs, each 32 of them multiplied by a scale of e8m0."""
    codes = np.asarray(codes)
    nibbles = np.stack([codes & 15, codes >> 4], -1).reshape(codes.shape[0], -1)
    values = _FOUR_BITS[nibbles & 7] * np.where(nibbles & 8, -1, 1)
    return values * np.exp2(np.float32(np.asarray(scales)) - 127).repeat(32, 1)


def mxfp4(name: str, m: int, n: int, k: int) -> Callable[[ModuleType, Any], Pairs]:
    def run(module: ModuleType, torch: Any) -> Pairs:
        a, b = (torch.randint(0, 256, (rows, k // 2), dtype=torch.uint8) for rows in (m, n))
        left, right = (
            torch.randint(125, 130, (k // 32, rows), dtype=torch.uint8).t() for rows in (m, n)
        )
        yield getattr(module, name)(a, b, left, right), unpacked(a, left) @ unpacked(b, right).T

    return run


def mxfp8(module: ModuleType, torch: Any) -> Pairs:
    m, n, k = 256, 256, 512
    a, b = (
        torch.randint(20, 40, shape, dtype=torch.uint8).view(torch.float8_e5m2)
        for shape in ((m, k), (k, n))
    )
    left, right = (torch.randint(125, 130, (rows, k // 32), dtype=torch.uint8) for rows in (m, n))
    wide_left, wide_right = (np.exp2(single(each) - 127).repeat(32, 1) for each in (left, right))
    expected = (single(a) * wide_left) @ (single(b) * wide_right.T)
    packed = [_packed(each) for each in (left, right)]
    for transposed in (False, True):
        given = b.t().contiguous() if transposed else b
        config = {"DTYPE_A": "e5m2", "DTYPE_B": "e5m2", "TRANSPOSE_B": transposed}
        yield module.matmul(a, given, *packed, config=config), expected


def _packed(scales: Array) -> Array:
    """Scales in the order in which the kernel reads them: `pack_scale` of the tutorial."""
    rows, columns = scales.shape
    shuffled = np.asarray(scales).reshape(rows // 128, 4, 32, columns // 4, 4)
    ordered = np.ascontiguousarray(shuffled.transpose(0, 3, 2, 1, 4))
    return ordered.reshape(rows // 128, columns * 128).view(type(scales))


# -- attention -----------------------------------------------------------------------------------


def attention_of(q: Array, k: Array, v: Array, scale: float, causal: bool) -> Array:
    scores = single(q) @ single(k).swapaxes(-1, -2) * scale
    if causal:
        ahead = np.triu(np.ones(scores.shape[-2:], bool), 1 + scores.shape[-1] - scores.shape[-2])
        scores = np.where(ahead, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ single(v)


def attention(
    *names: str, context: int = 512, head: int = 64, config: dict[str, Any] | None = None
) -> Callable[[ModuleType, Any], Pairs]:
    def run(module: ModuleType, torch: Any) -> Pairs:
        q, k, v = (torch.randn((1, 2, context, head), dtype=torch.float16) for _ in range(3))
        for name in names:
            for causal in (False, True):
                out = getattr(module, name)(q, k, v, 0.125, causal, config=config)
                yield out, attention_of(q, k, v, 0.125, causal)

    return run


def persistent_attention(module: ModuleType, torch: Any) -> Pairs:
    q, k, v = (torch.randn((1, 2, 512, 64), dtype=torch.float16) for _ in range(3))
    for causal in (False, True):
        for name in (
            "flash_attn_async_simple",
            "flash_attn_async_prefetch",
            "flash_attn_persistent",
        ):
            out = getattr(module, name)(q, k, v, 0.125, causal=causal)
            yield out, attention_of(q, k, v, 0.125, causal)


def paged(module: ModuleType, torch: Any) -> Pairs:
    heads, groups, dim, page, context = 8, 2, 64, 16, [100, 250]
    query = torch.randn((2, heads, dim), dtype=torch.bfloat16)
    pages = -(-max(context) // page)
    keys, values = (
        torch.randn((2 * pages, groups, page, dim), dtype=torch.bfloat16) for _ in range(2)
    )
    tables = torch.arange(2 * pages, dtype=torch.int32).reshape(2, pages)
    lengths = torch.tensor(context, dtype=torch.int32)
    for splits in (1, 2):
        out = torch.empty_like(query)
        module.pa_decode_tlx(out, query, keys, values, lengths, tables, 0.125, num_splits=splits)
        expected = np.empty(query.shape, np.float32)
        for s, length in enumerate(context):
            for h in range(heads):
                k, v = (
                    single(cache)[tables[s]]
                    .transpose(1, 0, 2, 3)[h * groups // heads]
                    .reshape(-1, dim)[:length]
                    for cache in (np.asarray(keys), np.asarray(values))
                )
                expected[s, h] = attention_of(query[s, h][None], k, v, 0.125, False)[0]
        yield out, expected


def hstu(module: ModuleType, torch: Any) -> Pairs:
    lengths, heads, dim, longest = (100, 200), 2, 64, 256
    offsets = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int64)
    q, k, v = (torch.randn((sum(lengths), heads, dim), dtype=torch.bfloat16) for _ in range(3))
    targets = torch.tensor([10, 20], dtype=torch.int32)
    order = torch.tensor([1, 0], dtype=torch.int64)
    torch.sort = lambda *_, **__: (None, order)
    out = module.triton_hstu_attention_fwd(
        longest, 0.125, q, k, v, offsets, True, targets, 0, 0, sort_by_length=True
    )
    expected = np.zeros(q.shape, np.float32)
    for s, length in enumerate(lengths):
        part = slice(int(offsets[s]), int(offsets[s + 1]))
        # A target sees what comes before the targets, and itself.
        at = np.arange(length)
        ids = np.minimum(at, length - int(targets[s]))
        seen = (ids[:, None] > ids[None, :]) | (at[:, None] == at[None, :])
        for h in range(heads):
            scores = single(q)[part, h] @ single(k)[part, h].T * 0.125
            weights = np.where(seen, scores / (1 + np.exp(-scores)) / longest, 0)
            expected[part, h] = weights @ single(v)[part, h]
    yield out, expected


def gdpa(module: ModuleType, torch: Any) -> Pairs:
    from tilewright import tl

    # A kernel reads them; Triton too refuses globals that are no constexpr, unless
    # TRITON_ALLOW_NON_CONSTEXPR_GLOBALS is set.
    k_gelu, c_gelu = module.GELU_TANH_K, module.GELU_TANH_C
    module.GELU_TANH_K, module.GELU_TANH_C = tl.constexpr(k_gelu), tl.constexpr(c_gelu)
    lengths, heads, dim, dff = (100, 60), 2, 64, 128
    offsets = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32)
    q = torch.randn((sum(lengths), heads, dim), dtype=torch.bfloat16)
    k, v = (torch.randn((2 * dff, heads, dim), dtype=torch.bfloat16) for _ in range(2))
    out = module.gdpa(q, k, v, offsets, dff, 0.125, max_M=max(lengths))
    expected = np.zeros(q.shape, np.float32)
    for s in range(2):
        rows, keys = slice(int(offsets[s]), int(offsets[s + 1])), slice(s * dff, (s + 1) * dff)
        for h in range(heads):
            x = single(q)[rows, h] @ single(k)[keys, h].T * 0.125
            gelu = x / (1 + np.exp(-k_gelu * x * (1 + c_gelu * x * x)))
            expected[rows, h] = gelu @ single(v)[keys, h]
    yield out, expected


def backward(module: ModuleType, torch: Any) -> Pairs:
    shape, scale = (1, 2, 256, 64), 0.125
    q, k, v, do = (torch.randn(shape, dtype=torch.bfloat16) for _ in range(4))
    for causal in (False, True):
        scores = single(q) @ single(k).swapaxes(-1, -2) * scale
        if causal:
            scores = np.where(np.triu(np.ones(scores.shape[-2:], bool), 1), -np.inf, scores)
        lse = np.log(np.exp(scores).sum(-1))
        p = np.exp(scores - lse[..., None])
        o = torch.tensor(p @ single(v), dtype=torch.bfloat16)
        dp = single(do) @ single(v).swapaxes(-1, -2)
        ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
        expected = (
            ds @ single(k),
            ds.swapaxes(-1, -2) @ single(q),
            p.swapaxes(-1, -2) @ single(do),
        )
        found = module.fa_backward(
            q, k, v, o, do, torch.tensor(lse, dtype=torch.float32), scale, causal
        )
        yield from zip(found, expected, strict=True)


_STEPS = (
    *("v0_naive", "v1_buffer_load", "v2_async_copy", "v3_lds", "v4_global_prefetch"),
    *("v5_local_prefetch", "v6_loop_unroll", "v7_slice", "v8_warp_pipeline", "v9_beyond_hotloop"),
)
CASES = (
    Case("amd_gemm_gfx942", "amd_gemm_gfx942.py", gemm((256, 256, 192)), "gfx942"),
    Case("amd_addmm_gfx942", "amd_addmm_gfx942.py", addmm, "gfx942"),
    Case("amd_bmm_gfx942", "amd_bmm_gfx942.py", bmm(128, 128, 192), "gfx942"),
    Case("amd_gemm_pipelined", "amd_gemm_pipelined.py", gemm((256, 256, 256)), "gfx942"),
    Case("amd_gemm_warp_pipeline", "amd_gemm_warp_pipeline.py", gemm((512, 256, 256))),
    *(
        Case(
            f"a16w16/{name}",
            f"gfx9_gemm/a16w16/{name}/matmul_kernel.py",
            gemm((512, 512, 256), turned=True),
        )
        for name in _STEPS
    ),
    Case(
        "inter_wave/split_m",
        "gfx9_gemm/inter_wave/a16w16/matmul_kernel_split_m.py",
        gemm((512, 512, 256), turned=True),
    ),
    Case(
        "inter_wave/a16w16",
        "gfx9_gemm/inter_wave/a16w16/matmul_kernel.py",
        gemm((512, 512, 512), turned=True),
    ),
    Case("amd_addmm_gfx950", "amd_addmm_gfx950.py", addmm_split),
    Case("amd_bmm", "amd_bmm.py", bmm(128, 256, 256)),
    Case("amd_bmm_shared_a", "amd_bmm_shared_a.py", bmm(128, 256, 256)),
    Case("amd_grouped_gemm", "amd_grouped_gemm.py", grouped),
    Case("amd_addmm_glu", "amd_addmm_glu.py", glu),
    Case("amd_fa_pipelined", "amd_fa_pipelined.py", attention("attention")),
    Case(
        "amd_fa_pipelined/prefetch",
        "amd_fa_pipelined.py",
        attention(
            "attention", config={"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 4, "PREFETCH": True}
        ),
    ),
    Case("amd_fa_persistent", "amd_fa_persistent.py", persistent_attention),
    Case("amd_fa_cluster", "amd_fa_cluster.py", attention("attention", "persistent_attention")),
    Case("amd_pa_decode", "amd_pa_decode.py", paged),
    Case("amd_hstu_attn", "amd_hstu_attn.py", hstu),
    Case("gfx950_gdpa", "gfx950_gdpa.py", gdpa),
    Case(
        "intra_wave/a4w4",
        "gfx9_gemm/intra_wave/a4w4/matmul_kernel.py",
        mxfp4("matmul", 256, 256, 1024),
    ),
    Case(
        "skinny/a4w4",
        "gfx9_gemm/skinny/a4w4/matmul_kernel.py",
        mxfp4("skinny_matmul", 128, 256, 1024),
    ),
    Case(
        "inter_wave/a4w4",
        "gfx9_gemm/inter_wave/a4w4/matmul_kernel.py",
        mxfp4("_matmul_256tile", 256, 256, 2048),
    ),
    Case("amd_fa_bwd", "amd_fa_bwd.py", backward),
    Case("amd_mxfp_gemm_tdm_pipelined", "amd_mxfp_gemm_tdm_pipelined.py", mxfp8, "gfx1250"),
    Case("amd_tdm_gemm_pipelined", "amd_tdm_gemm_pipelined.py", gemm((256, 128, 128)), "gfx1250"),
)


def load(path: str, directory: Path, name: str | None = None) -> ModuleType:
    """The tutorial in the file `path` as a module, after those that it imports."""
    for found in _IMPORTED.findall((directory / path).read_text()):
        if f"{_PACKAGE}.{found}" not in sys.modules:
            _add_packages(found, directory)
            file = Path(found.replace(".", "/"))
            if (directory / file).is_dir():
                # A package; those of the tutorials only collect names of the module in it.
                module = f"{_PACKAGE}.{found}"
                sys.modules[module] = load(str(file / "matmul_kernel.py"), directory, module)
            else:
                load(str(file.with_suffix(".py")), directory, f"{_PACKAGE}.{found}")
    name = name or f"tutorial_{path}"
    spec = importlib.util.spec_from_file_location(name, directory / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _add_packages(module: str, directory: Path) -> None:
    """The directories that a tutorial is in, as packages, which the stand-in for Triton lacks."""
    name, path = _PACKAGE, directory
    for part in ("", *module.split(".")[:-1]):
        name, path = (f"{name}.{part}", path / part) if part else (name, path)
        package = ModuleType(name)
        package.__path__ = [str(path)]  # type: ignore[attr-defined]
        sys.modules.setdefault(name, package)


def difference(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest value."""
    found, expected = single(found), single(expected)
    return float(np.abs(found - expected).max() / max(1e-6, np.abs(expected).max()))


def execute(case: Case, directory: Path, torch: Any, target: str | None) -> str:
    """One line about a run of `case`."""
    import tilewright as tw
    from tilewright.runtime.compile_only import compiling_only

    names = {"torch": torch, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional}
    sys.modules.update(names)
    module = load(case.path, directory)
    # What is served for `triton` looks for a real torch from here on.
    for name in names:
        sys.modules.pop(name)
    compiled: list[Any] = []
    started = time.perf_counter()
    if target is None:
        with tw.running(target=f"hip:{case.arch}", schedules=2):
            worst = max(difference(*pair) for pair in case.run(module, torch))
        verdict = "right" if worst < 2e-2 else "WRONG"
        return f"{verdict}, {worst:.1e} off, {time.perf_counter() - started:.1f} s"
    with tw.running(target=target), compiling_only(compiled.append):
        for _ in case.run(module, torch):
            pass
    lines = {
        f"{m.name}: {m.registers} VGPRs ({m.accumulation_registers} AGPRs), {m.scalar_registers} "
        f"SGPRs, {m.spill_bytes} B spilled, {m.shared} B LDS"
        for m in (each.artefact.metadata for each in compiled)
    }
    return "\n      ".join(sorted(lines))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", help="tutorials to run; all of them without any")
    parser.add_argument("--target", help="compile for triton:gfx942 or triton:gfx950, run nothing")
    given = parser.parse_intermixed_args(arguments)
    os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
    import numpy_torch

    from tilewright.compat import finder

    torch = numpy_torch.make()
    finder._adapt_torch = lambda torch: None  # there is nothing to adapt
    finder.install()
    failed = 0
    for case in CASES:
        if given.names and not any(name in case.name for name in given.names):
            continue
        try:
            found = execute(case, given.directory, torch, given.target)
        except Exception as error:
            if os.environ.get("TRACEBACK"):
                raise
            failed += 1
            found = f"{type(error).__name__}: {str(error).strip()[:1200]}"
        failed += "WRONG" in found
        print(f"{case.name:26} {found}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
