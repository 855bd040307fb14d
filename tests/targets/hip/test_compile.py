"""`T` kernels to code objects: program, metadata, cache, command line, `tw.compile`."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.runtime.hip.fake_hip import FakeHip
from tests.targets.hip.support import needs_clang
from tilewright import T
from tilewright.cli.main import run
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.hip.bindings import using
from tilewright.runtime.tile.hip import HipGpuKernel
from tilewright.targets.compilers import compile_text
from tilewright.targets.errors import HipCompilerError, HipCompilerMissing
from tilewright.targets.hip import compile as compiling
from tilewright.targets.hip.artefact import PROGRAMS, HipProgram
from tilewright.targets.hip.compile import compile_module, lower_module
from tilewright.targets.hip.metadata import HipKernelMetadata
from tilewright.targets.hip.notes import architecture, kernel_notes
from tilewright.targets.hip.settings import HipSettings
from tilewright.targets.hip.spills import registers_for, warn_of_spills

SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import T


@tw.jit
def scaled(A, factor: T.float32):
    M = T.const("M")
    A: T.Tensor((M,), "float32")
    B = T.empty((M,), "float32")
    with T.Kernel(T.ceildiv(M, 256), threads=128) as bx:
        for i in T.Parallel(256):
            B[bx * 256 + i] = A[bx * 256 + i] * factor
    return B


if __name__ == "__main__":
    scaled(np.ones(1000, np.float32), 2.0)
"""


@tw.jit(target="hip:gfx942")
def scaled(A, factor: T.float32):
    M = T.const("M")
    A: T.Tensor((M,), "float32")
    B = T.empty((M,), "float32")
    with T.Kernel(T.ceildiv(M, 256), threads=128) as bx:
        for i in T.Parallel(256):
            B[bx * 256 + i] = A[bx * 256 + i] * factor
    return B


@pytest.fixture(scope="module")
def module() -> Any:
    return scaled.get_tir(np.ones(1000, np.float32), 2.0).module


@needs_clang
@pytest.mark.parametrize(("chip", "wave"), [("gfx90a", 64), ("gfx1201", 32)])
def test_a_module_becomes_a_program(module: Any, chip: str, wave: int) -> None:
    program = compile_module(module, chip)
    kernel = program.kernels["scaled_kernel"]
    assert architecture(kernel.code_object) == chip
    note = kernel_notes(kernel.code_object)["scaled_kernel"]
    assert (note.wave, note.max_threads) == (wave, 128)
    metadata = kernel.metadata
    assert (metadata.threads, metadata.waves, metadata.chip) == (128, 128 // wave, chip)
    assert (metadata.vgprs, metadata.sgprs) == (note.vgprs, note.sgprs)
    assert (metadata.spill_bytes, metadata.scratch_bytes, metadata.shared) == (0, 0, 0)
    # What a launch passes is what the code object takes: kinds in order, sizes with them.
    sizes = {"ptr": 8, "f32": 4, "i32": 4}
    assert [sizes[each] for each in metadata.parameters] == [
        each[1] for each in note.visible_arguments
    ]
    assert 'extern "C" __global__' in kernel.source
    assert "#include" not in kernel.source
    (launch,) = (step for step in program.steps if step.kind == "launch")
    assert launch.constants == ("scaled_kernel",)


def test_the_source_needs_no_compiler(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "compile_source", lambda *_, **__: pytest.fail("not needed"))
    for chip in ("gfx942", "gfx950"):
        (source,) = lower_module(module, AmdPipeline(target=f"hip:{chip}")).sources
        assert "scaled_kernel" in source.text


@needs_clang
def test_programs_are_cached_by_all_that_decides_them(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = PROGRAMS.compiled(module, HipSettings("gfx942"))
    monkeypatch.setattr(compiling, "compile_as", lambda *_: pytest.fail("it is on the disk"))
    again = PROGRAMS.compiled(module, HipSettings("gfx942"))
    assert again == HipProgram(first.steps, first.kernels, None, first.remarks)
    others = [HipSettings("gfx90a"), HipSettings("gfx942", fast_math=True)]
    keys = {PROGRAMS.key(module, each) for each in (HipSettings("gfx942"), *others)}
    assert len(keys) == 3


def _held(threads: int, rows: int) -> Any:
    """A kernel that holds a tile of `rows` by 64 floats throughout."""

    @T.prim_func
    def held(A: T.Tensor((rows, 64), "float32"), B: T.Tensor((rows, 64), "float32")):
        with T.Kernel(1, threads=threads):
            X = T.alloc_fragment((rows, 64), "float32")
            T.copy(A, X)
            for step in T.serial(3):
                for i, j in T.Parallel(rows, 64):
                    X[i, j] = X[i, j] * 1.5 + T.cast(step, "float32")
                T.sync_threads()
            T.copy(X, B)

    return held.module


def test_the_warning_about_spills() -> None:
    (function,) = lower_module(_held(32, 160), AmdPipeline(target="hip:gfx1100")).functions
    metadata = HipKernelMetadata("held_kernel", "gfx1100", 32, 0, 0, (), vgprs=256)
    engine = DiagnosticEngine()
    warn_of_spills(function, metadata, engine)
    assert engine.diagnostics == []
    warn_of_spills(function, replace(metadata, vgpr_spills=143, scratch_bytes=296), engine)
    (warning,) = engine.diagnostics
    assert warning.message == (
        "held_kernel: 572 B per thread spill to scratch memory: about 330 registers needed, "
        "256 available"
    )
    assert [each.message for each in warning.notes] == [
        "'X' needs 320 registers per thread (32 threads)",
        "help: use threads=64 (about 165 registers per thread) or a smaller tile",
    ]


@needs_clang
@pytest.mark.slow
def test_spills_are_reported_with_a_fix() -> None:
    engine = DiagnosticEngine()
    program = compile_module(_held(32, 160), "gfx1100", engine=engine)
    assert program.spill_bytes > 0
    (warning,) = (each for each in engine.diagnostics if each.code == "TW5012")
    found = re.search(
        r"held_kernel: (\d+) B per thread spill to scratch memory: about (\d+) registers needed, "
        r"256 available",
        warning.message,
    )
    assert found is not None
    assert int(found[1]) == program.spill_bytes
    assert 320 < int(found[2]) < 400
    notes = [each.message for each in warning.notes]
    assert notes[0] == "'X' needs 320 registers per thread (32 threads)"
    assert re.match(r"help: use threads=64 \(about \d+ registers per thread\)", notes[1])
    # The suggestion works.
    assert compile_module(_held(64, 160), "gfx1100").spill_bytes == 0


def test_registers_of_a_lane_depend_on_the_threads_of_a_block() -> None:
    cdna, rdna = chip_named("gfx942"), chip_named("gfx1100")
    assert [registers_for(cdna, each) for each in (64, 256, 512, 1024)] == [512, 512, 256, 128]
    # A block has the SIMDs of two compute units: 32 waves on four of them.
    assert [registers_for(rdna, each) for each in (64, 512, 1024)] == [256, 256, 192]


# -- tw.compile ------------------------------------------------------------------------------------


def test_numpy_arrays_run_on_the_cpu() -> None:
    given = np.arange(300, dtype=np.float32)
    assert np.array_equal(scaled(given, 3.0), given * 3)
    kernel = scaled.traced(given, 3.0)
    assert (kernel.target, type(kernel.gpu)) == ("hip:gfx942", HipGpuKernel)


@needs_clang
def test_a_compiled_kernel_shows_its_source() -> None:
    kernel = tw.compile(scaled.get_tir(np.ones(300, np.float32), 1.0), target="hip -mcpu=gfx90a")
    assert kernel.target == "hip:gfx90a"
    assert "__builtin_amdgcn" in kernel.get_kernel_source()
    assert kernel.n_spills == 0
    assert kernel.n_regs is not None
    assert kernel.n_regs > 0
    with pytest.raises(NotImplementedError, match=r"target hip:gfx90a .* writes the code object"):
        kernel.export("anywhere")


@needs_clang
def test_arrays_on_a_gpu_are_launched_there() -> None:
    """What the bindings get of a call with an array of 1,000 elements."""
    fake = FakeHip("gfx942")
    given = DeviceArray(0x7000, "fp32", (1000,), (1,), 4, 0, None)
    result = DeviceArray(0x9000, "fp32", (1000,), (1,), 4, 0, None)
    kernel = scaled.traced(np.ones(1000, np.float32), 2.0)
    assert kernel.gpu is not None
    note = kernel_notes(kernel.gpu.program.kernels["scaled_kernel"].code_object)["scaled_kernel"]
    fake.sizes = tuple(each[1] for each in note.visible_arguments)
    with using(fake):
        kernel.gpu.device.launch([given, 2.0, result])
    (launch,) = fake.launches
    assert (launch["grid"], launch["block"]) == ((4, 1, 1), (128, 1, 1))
    passed = dict(
        zip(
            kernel.gpu.program.kernels["scaled_kernel"].metadata.parameters,
            launch["parameters"],
            strict=True,
        )
    )
    assert passed["f32"] == np.float32(2).tobytes()
    addresses = {int.from_bytes(each, "little") for each in launch["parameters"] if len(each) == 8}
    assert addresses == {0x7000, 0x9000}


@needs_clang
def test_a_process_that_compiles_takes_these_settings(module: Any) -> None:
    text = print_module(module, generic=True, locations=True)
    program = compile_text(text, HipSettings("gfx90a"))
    assert isinstance(program, HipProgram)
    assert program.kernels["scaled_kernel"].metadata.chip == "gfx90a"
    with pytest.raises(HipCompilerError, match="no-such-option") as refused:
        compile_text(text, HipSettings("gfx90a", flags=("--no-such-option",)))
    sent = pickle.loads(pickle.dumps(refused.value))
    assert (type(sent), str(sent)) == (HipCompilerError, str(refused.value))
    assert (sent.log, sent.source) == (refused.value.log, refused.value.source)


def test_a_process_without_clang_says_so(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise HipCompilerMissing("no compiler")

    monkeypatch.setattr(compiling, "compile_source", missing)
    text = print_module(module, generic=True, locations=True)
    with pytest.raises(HipCompilerMissing, match="no compiler"):
        compile_text(text, HipSettings("gfx942"))


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "scaled.py"
    path.write_text(SCRIPT)
    return path


@needs_clang
def test_compile_prints_registers_and_writes_every_stage(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["compile", str(script), "--target", "hip:gfx1100", "-o", str(out)]) == 0
    head, row = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head[:5] == ["kernel", "target", "VGPRs", "AGPRs", "SGPRs"]
    assert row[:2] == ["scaled_kernel", "gfx1100"]
    assert {each.name for each in out.iterdir()} == {
        *("scaled.tile.mlir", "scaled.thread.mlir", "scaled_kernel.hip"),
        *("scaled_kernel.hsaco", "scaled_kernel.s", "scaled_kernel.json"),
    }
    code = (out / "scaled_kernel.hsaco").read_bytes()
    note = kernel_notes(code)["scaled_kernel"]
    written = json.loads((out / "scaled_kernel.json").read_text())
    assert written["vgprs"] == note.vgprs
    assert (written["target"], written["grid"]) == ("hip:gfx1100", [4, 1, 1])
    assert "global_load_" in (out / "scaled_kernel.s").read_text()


@needs_clang
def test_compile_prints_json(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(script.read_text().replace("M = T.const", "M = T.dynamic"))
    assert run(["compile", str(script), "--target", "hip:gfx90a", "--json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)
    assert (kernel["name"], kernel["target"]) == ("scaled_kernel", "hip:gfx90a")
    assert kernel["grid"] == ["ceildiv(dim(%0, 0), 256)", 1, 1]
    assert kernel["threads"] == 128


def test_stages_before_the_code_object_need_no_clang(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "compile_source", lambda *_, **__: pytest.fail("not needed"))
    for stage, expected in {"thread": "gpu.thread_id", "hip": "// scaled.py:"}.items():
        arguments = ["compile", str(script), "--target", "hip:gfx950", "--stage", stage]
        assert run(arguments) == 0
        assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--target", "hip:gfx803"],
            "unknown target 'hip:gfx803': expected hip or an architecture",
        ),
        (["--target", "hip:mi300"], "unknown target 'hip:mi300': expected hip or an architecture"),
        (["--target", "triton:gfx1100"], "T kernels have targets like hip:gfx1100"),
        (["--target", "gfx942"], "pass triton:gfx942 for tl and tlx kernels, hip:gfx942 for T"),
        (["--target", "hip:gfx942", "--stage", "hsaco"], "use --stage isa for its instructions"),
        (
            ["--target", "hip:gfx942", "--stage", "ptx"],
            "'ptx' is not one of tile, thread, hip, isa",
        ),
        (["--target", "hip:gfx942", "--explain"], "use --remarks for GPUs"),
        (
            ["--target", "tenstorrent:wormhole", "--json", "--explain"],
            "--json and --explain are mutually exclusive",
        ),
        (["--target", "hip:gfx942", "--json", "--stage", "hip"], "mutually exclusive"),
    ],
)
def test_what_the_command_line_refuses(
    script: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["compile", str(script), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_without_clang_compile_says_what_to_install(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewright.targets.hip import clang

    clang.clang_for.cache_clear()
    monkeypatch.setattr(clang, "installed", lambda: ())
    assert run(["compile", str(script), "--target", "hip:gfx942"]) == 2
    clang.clang_for.cache_clear()
    error = capsys.readouterr().err
    assert "no compiler for gfx942 on this machine" in error
    assert "apt install clang-19 lld-19" in error


def test_without_clang_the_sources_are_written(
    script: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise HipCompilerMissing("no compiler")

    monkeypatch.setattr(compiling, "compile_source", missing)
    out = tmp_path / "out"
    assert run(["compile", str(script), "--target", "hip:gfx942", "-o", str(out)]) == 2
    assert f"no compiler; {out} has the source and the IR, and no code" in capsys.readouterr().err
    assert {each.name for each in out.iterdir()} == {
        *("scaled.tile.mlir", "scaled.thread.mlir", "scaled_kernel.hip")
    }


def test_the_target_of_a_chip_without_its_kind() -> None:
    with pytest.raises(ValueError, match="or tenstorrent: did you mean 'hip:gfx942'\\?"):
        tw.jit(target="gfx942")(scaled.function)(np.ones(4, np.float32), 2.0)


def test_layouts_of_a_chip_that_is_not_known(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["layout", str(script), "--target", "hip:mi300"]) == 2
    assert "unknown target 'hip:mi300': expected hip or an arch" in capsys.readouterr().err


BARE = """\
@tw.jit
def multiply(A, B):
    A: T.Tensor((256, 128), "float16")
    B: T.Tensor((128, 256), "float16")
    C = T.empty((256, 256), "float32")
    with T.Kernel(1, threads=128) as _:
        a = T.alloc_shared((256, 64), "float16")
        b = T.alloc_shared((64, 256), "float16")
        c = T.alloc_fragment((256, 256), "float32")
        T.clear(c)
        for k in T.Pipelined(2, num_stages=2):
            T.copy(A[0, k * 64], a)
            T.copy(B[k * 64, 0], b)
            T.gemm(a, b, c)
        T.copy(c, C)
    return C
"""


def test_a_loop_without_registers_for_its_copies_has_no_other_reason(tmp_path: Path) -> None:
    file = tmp_path / "bare.py"
    file.write_text(f"import tilewright as tw\nfrom tilewright import T\n\n\n{BARE}")
    scope: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    arrays = np.ones((256, 128), np.float16), np.ones((128, 256), np.float16)
    module, engine = scope["multiply"].get_tir(*arrays).module.clone(), DiagnosticEngine()
    AmdPipeline(target="hip:gfx1100").run(module, engine)
    codes = [each.code for each in engine.diagnostics]
    assert codes.count("TW7503") == 2
    assert "TW4045" not in codes


SPILLING = """\
import numpy as np
import tilewright as tw
from tilewright import T


@tw.jit
def total(A):
    A: T.Tensor((64, 288), "float32")
    B = T.empty((64, 288), "float32")
    with T.Kernel(1, threads=64):
        x = T.alloc_fragment((64, 288), "float32")
        s = T.alloc_fragment((64,), "float32")
        T.copy(A, x)
        T.reduce_sum(x, s, dim=1)
        for i, j in T.Parallel(64, 288):
            x[i, j] = x[i, j] * s[i]
        T.copy(x, B)
    return B


total(np.ones((64, 288), np.float32))
"""


@needs_clang
def test_a_kernel_that_spills_is_compiled_with_more_threads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """288 registers a thread are more than gfx1100 has; 144 are not."""
    script = tmp_path / "total.py"
    script.write_text(SPILLING)
    assert run(["compile", str(script), "--target", "hip:gfx1100", "--remarks"]) == 0
    out, err = capsys.readouterr()
    head, row = (line.split() for line in re.sub(r" (B|ms)\b", "", out).splitlines())
    found = dict(zip(head, row, strict=True))
    assert (found["spilled"], found["threads"]) == ("0", "128")
    assert "remark[TW5017]: thread count doubled to 128 per block" in err


def test_a_kernel_that_the_target_refuses_is_an_error() -> None:
    @T.prim_func
    def large(A: T.Tensor((256, 256), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((256, 256), "float32")
            T.copy(A, X)
            T.copy(X, A)

    with pytest.raises(CompileError, match="65536"):
        compile_module(large.module, "gfx942")
