"""Run TileLang's own examples, unmodified, on Tilewright, and print how each of them ended.

    python scripts/run_tilelang_examples.py FOLDER [NUMBER ...] [--show] [--limit SECONDS]
                                            [--compile sm_90a,sm_80,gfx942]

FOLDER is `examples/` of a checkout of tile-ai/tilelang; NUMBERs pick entries of the compatibility
suite. torch has to be installed (a build for the CPU will do);
einops is needed by some, and `flash_attn` by one, for which there is a stand-in in
`scripts/stand_ins`. The files are used as they are: `tilelang` is served by `tilewright.compat`,
the device "cuda" is the CPU, and sizes are only what the files' own arguments make them. Each entry
is a process of its own, and ends in one of these ways:

    ran       the file's own checks, with its own tolerances, accept the results
    traced    its kernels became tile IR that the verifier accepts (see the note for why not more)
    failed    the last line that was printed follows; --show shows all of it

Where torch sees a GPU, kernels run there. With --compile, each kernel is compiled to machine code
for the given GPUs as well, which needs none, and its registers and spills are printed, or that its
tiles are too large for one, or why it is refused.

Exit status 1 if an entry failed.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BF16, F16, F32 = "bfloat16", "float16", "float32"
STAND_INS = Path(__file__).resolve().parent / "stand_ins"
"""Modules that some files compare with, for where the real ones are not installed."""
TOO_LARGE = "TW5001"
"""More shared memory than a GPU has: the file's tiles are for another one."""
AMD = "gfx"
NOT_ON_AMD = r"TW75[12]\d"
"""What a kernel uses that AMD GPUs do not have."""
UNINITIALISED = "TW3040"
"""A read of what nothing wrote: entry 23 without an initial state, a fault of the file."""


@dataclass(frozen=True)
class Trace:
    """A function under @jit, and arguments to trace it for."""

    function: str
    arguments: Sequence[Any] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Entry:
    """One file of the suite, and what to do with it."""

    file: str
    script: Sequence[str] | None = None
    """Arguments of the file as a script."""
    call: tuple[str, Mapping[str, Any]] | None = None
    """A function of the file, and its arguments, where the script itself takes none."""
    traces: Sequence[Trace] = ()
    note: str = ""


def _deltas() -> list[Trace]:
    sizes = (1, 1024, 4, 128, 128, BF16, BF16, F32, F32, F32, 64)
    return [
        Trace(
            "tilelang_chunk_gated_delta_rule_fwd_h",
            (*sizes, gates, initial, True, True),
            {"block_DK": 32, "block_DV": 32, "threads": 128, "num_stages": 1},
        )
        for gates in (True, False)
        for initial in (True, False)
    ]


def _dequantised(with_bias: bool) -> Trace:
    blocks = {"block_M": 256, "block_N": 128, "block_K": 128}
    schedule = {"num_stages": 2, "threads": 256, "split": 1}
    problem = {"num_bits": 4, "scale_size": 32, "fast_dequant": True, "with_bias": with_bias}
    return Trace("matmul", (256, 256, 256, BF16, BF16, F32), {**problem, **blocks, **schedule})


_RACE = "a run reports that sum_exp_shared is read without waiting for the writing warp group"

SUITE: Mapping[int, Entry] = {
    1: Entry("elementwise/example_elementwise_add.py", script=()),
    2: Entry("quickstart.py", script=()),
    3: Entry("gemm/example_gemm.py", script=()),
    4: Entry("norm/rms_norm.py", script=()),
    5: Entry("online_softmax/online_softmax.py", script=()),
    6: Entry(
        "cast/example_per_token_cast_to_fp8.py", call=("main", {"M": 256, "N": 1024, "blk_m": 8})
    ),
    7: Entry("topk/example_topk.py", script=()),
    8: Entry("dynamic_shape/example_dynamic.py", call=("main", {"M": 512, "N": 640, "K": 384})),
    9: Entry("gemv/example_gemv.py", call=("main", {"do_bench": False})),
    10: Entry("gemm_splitk/example_tilelang_gemm_splitk.py", script=()),
    11: Entry(
        "gemm_fp8/example_tilelang_gemm_fp8_2xAcc.py",
        call=("test_gemm_fp8", {"M": 256, "N": 256, "K": 512, "dtype": "float8_e4m3fn"}),
    ),
    12: Entry("gemm/example_gemm_persistent.py", script=("--M", "512", "--N", "512", "--K", "512")),
    13: Entry(
        "gemm/example_gemm_autotune.py",
        script=("--m", "512", "--n", "512", "--k", "512", "--use_autotune"),
    ),
    14: Entry(
        "convolution/example_convolution.py",
        script=("--n", "1", "--c", "64", "--h", "16", "--w", "16", "--f", "128"),
    ),
    15: Entry("blocksparse_gemm/example_blocksparse_gemm.py", script=()),
    16: Entry("grouped_gemm/example_grouped_gemm_fwd.py", script=("--K", "512", "--M", "512")),
    17: Entry("gemm_streamk/example_tilelang_gemm_streamk.py", script=()),
    18: Entry(
        "flash_attention/example_mha_fwd_bshd.py",
        script=("--batch", "1", "--heads", "4", "--seq_len", "512", "--dim", "64", "--is_causal"),
    ),
    19: Entry(
        "flash_attention/example_gqa_fwd_varlen.py",
        script=(
            *("--batch", "2", "--heads", "8", "--groups", "4", "--dim", "64"),
            *("--q_seqlen", "200", "--k_seqlen", "300", "--is_causal"),
        ),
        traces=[Trace("flashattn", (2, 4, 500, 600, 16, 64, False, 64, 64, 2, 128))],
        note="compares with flash_attn: with scripts/stand_ins where that is not installed",
    ),
    20: Entry(
        "flash_attention/example_mha_bwd_bshd.py",
        script=("--batch", "1", "--h", "2", "--n_ctx", "256", "--d_head", "64"),
    ),
    21: Entry(
        "flash_decoding/example_gqa_decode.py",
        script=("--heads", "32", "--kv_seqlen", "1024", "--dim", "64"),
    ),
    22: Entry(
        "linear_attention/example_mamba_chunk_scan.py",
        script=("--batch", "1", "--heads", "4", "--seq_len", "512"),
    ),
    23: Entry("gdn/example_chunk_delta_h.py", traces=_deltas(), note="compares with fla"),
    24: Entry(
        "dequantize_gemm/example_dequant_gemm_bf16_mxfp4_hopper.py",
        call=("main", {"fast_dequant": False, "with_bias": True}),
        traces=[_dequantised(with_bias) for with_bias in (True, False)],
        note="main(fast_dequant=False, with_bias=True); fast_dequant calls CUDA text: traced",
    ),
    25: Entry("deepseek_nsa/example_tilelang_nsa_fwd.py", script=()),
    26: Entry("deepseek_mla/example_mla_decode.py", script=("--batch", "1")),
    27: Entry(
        "warp_specialize/example_warp_specialize_gemm_barrierpipe_stage2.py",
        call=("main", {"M": 256, "N": 256, "K": 256}),
    ),
    28: Entry(
        "deepseek_mla/example_mla_decode_ws.py",
        traces=[
            Trace("flashattn", (1, 128, 1, 1024, 512, 64, 64, 64, splits, 0.1)) for splits in (1, 4)
        ],
        note=_RACE,
    ),
    29: Entry(
        "deepseek_v32/sparse_mla_fwd_pipelined.py",
        traces=[
            Trace(
                "sparse_mla_fwd",
                keywords={
                    "batch": 1,
                    "seq_len": 8,
                    "seq_len_kv": 512,
                    "heads": 128,
                    "dim": 512,
                    "tail_dim": 64,
                    "topk": 128,
                    "kv_stride": 1,
                    "kv_group": 1,
                },
            )
        ],
        note=_RACE,
    ),
}


# -- one entry, in a process of its own ------------------------------------------------------------


def _compile(kernel: Any, archs: Sequence[str]) -> None:
    """Compile a kernel as its file wants it: with the pass_configs and flags it gave to jit."""
    from tilewright.ir.diagnostics import CompileError
    from tilewright.targets.cuda.compile import compile_as
    from tilewright.targets.hip.compile import compile_module

    for arch in archs:
        started = time.perf_counter()
        try:
            if arch.startswith(AMD):
                program = compile_module(kernel.prim_func.module, arch)
            else:
                program = compile_as(kernel.prim_func.module, kernel.settings_for(arch))
        except CompileError as error:
            too_large = re.search(rf"error\[{TOO_LARGE}\]: (.*)", str(error))
            missing = re.search(rf"error\[(?:{NOT_ON_AMD}|{UNINITIALISED})\]: (.*)", str(error))
            if too_large is None and missing is None:
                raise
            reason = f"does not fit: {too_large[1]}" if too_large else f"refused: {missing[1]}"
            print(f"{kernel.name} for {arch}: {reason}")
            continue
        print(
            f"{kernel.name} for {arch}: {program.registers} registers, {program.spill_bytes} "
            f"bytes spilled, {time.perf_counter() - started:.2f} s"
        )


def _compile_what_runs(archs: Sequence[str]) -> None:
    """Compile every kernel before its first run."""
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    done: set[tuple[Any, ...]] = set()
    launch = CompiledTileKernel.launch

    def compiling(self: CompiledTileKernel, values: Sequence[Any]) -> None:
        nvidia = [arch for arch in archs if not arch.startswith(AMD)]
        key = (self.prim_func.script(), *map(self.settings_for, nvidia))
        if key not in done:
            done.add(key)
            _compile(self, archs)
        launch(self, values)

    CompiledTileKernel.launch = compiling


def perform(folder: Path, number: int, archs: Sequence[str] = ()) -> None:
    """Do what the table says for an entry; raises if something is wrong."""
    from tilewright.compat import install
    from tilewright.compat.script import run_file
    from tilewright.runtime.tile.trace_only import tracing_only

    install()
    sys.path.append(str(STAND_INS))
    if archs:
        _compile_what_runs(archs)
    entry = SUITE[number]
    path = folder / entry.file
    if entry.script is not None:
        run_file(str(path), entry.script)
    if entry.call is None and not entry.traces:
        return
    sys.argv = [str(path)]
    sys.path.insert(0, str(path.parent))
    module = importlib.import_module(path.stem)
    if entry.call is not None:
        name, keywords = entry.call
        getattr(module, name)(**keywords)
    for trace in entry.traces:
        with tracing_only(lambda _: None):  # some call CUDA text, which no CPU runs
            kernel = getattr(module, trace.function).compile(*trace.arguments, **trace.keywords)
        kernel.prim_func.module.verify()
        print(f"{trace.function}: {len(kernel.prim_func.script().splitlines())} lines of IR")
        _compile(kernel, archs)


# -- all of them -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How an entry ended."""

    word: str
    seconds: float
    remark: str
    output: str


def attempt(folder: Path, number: int, limit: float, archs: str = "") -> Outcome:
    entry = SUITE[number]
    tracing = entry.script is None and entry.call is None
    command = [sys.executable, __file__, str(folder), "--perform", str(number)]
    command += ["--compile", archs] if archs else []
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome("failed", limit, f"not done after {limit:g} s", "")
    seconds = time.perf_counter() - started
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if done.returncode or any("Verification FAILED" in line for line in lines):
        last = lines[-1] if lines else f"exit status {done.returncode}"
        return Outcome("failed", seconds, last, done.stdout)
    word = "traced" if tracing else "ran"
    return Outcome(word, seconds, entry.note or _arguments(entry), done.stdout)


def _arguments(entry: Entry) -> str:
    """The sizes, as they were given."""
    if entry.call is not None:
        name, keywords = entry.call
        return f"{name}({', '.join(f'{key}={value}' for key, value in keywords.items())})"
    return " ".join(entry.script or ())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("numbers", type=int, nargs="*")
    parser.add_argument("--limit", type=float, default=300, help="seconds for an entry (300)")
    parser.add_argument("--show", action="store_true", help="print what the files print")
    parser.add_argument("--compile", default="", help="GPUs to compile for: sm_90a,sm_80")
    parser.add_argument("--perform", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.perform is not None:
        perform(options.folder, options.perform, [a for a in options.compile.split(",") if a])
        return 0
    failed = 0
    for number in options.numbers or SUITE:
        outcome = attempt(options.folder, number, options.limit, options.compile)
        failed += outcome.word == "failed"
        if options.show:
            print(outcome.output)
        print(
            f"{number:3}  {SUITE[number].file:66}  {outcome.word:7}{outcome.seconds:6.1f} s  "
            f"{outcome.remark}",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
