"""``tilewright compile --target cuda:...``: `T` kernels of scripts and IR text, without a GPU."""

from __future__ import annotations

import json
import sys
from importlib import import_module

import pytest

from tilewright.cli import compile as command
from tilewright.cli import compile_tile, opt
from tilewright.cli.command_line import parse
from tilewright.cli.commands import COMPILE
from tilewright.targets.cuda.nvrtc_library import NvrtcMissing

SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import T

@tw.jit(pass_configs={"tl.enable_fast_math": True})
def scale(X, block=64):
    n = T.const("n")
    X: T.Tensor((n,), "float32")
    Y = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, block), threads=64) as bx:
        for i in T.Parallel(block):
            Y[bx * block + i] = T.exp(X[bx * block + i])
    return Y

@tw.jit(out_idx=[-1], target="numpy")
def lazy(n):
    @T.prim_func
    def shift(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32) as bx:
            for i in T.Parallel(n):
                Y[i] = X[i] + 1
    return shift

x = np.ones(100, np.float32)
scale(x)
scale(x)
scale(np.ones(300, np.float32))
lazy(32)(x[:32])
print("what a script prints")
"""
TEXT = """\
#global = #tile.space<global>
func.func @twice(%X: memref<64xf32, #global>) {
  tile.kernel (%bx) in (1) threads(64) {
    tile.parallel (%i) in (64) {
      %v = memref.load %X[%i] : memref<64xf32, #global>
      %w = arith.addf %v, %v : f32
      memref.store %w, %X[%i] : memref<64xf32, #global>
    }
  }
  func.return
}
"""


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """A script becomes ``__main__``; the tests go on as what they were."""
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def run(*arguments: object) -> int:
    return command.run([str(each) for each in arguments], "tilewright compile")


def test_every_kernel_once_for_its_sizes(script, capsys):
    assert run(script, "--target", "cuda:sm_90a") == 0
    out, err = capsys.readouterr()
    head, *rows = out.splitlines()
    assert head.split() == [
        "kernel", "target", "registers", "spilled", "shared", "threads", "cubin",
        "trace", "passes", "nvrtc",
    ]  # fmt: skip
    cells = [row.split() for row in rows]
    assert [row[:2] for row in cells] == [
        ["scale_kernel", "sm_90a"],
        ["scale_kernel", "sm_90a"],
        ["shift_kernel", "sm_90a"],
    ]
    for row in cells:
        assert int(row[2]) > 0  # registers
        assert row[3:7] == ["0", "B", "0", "B"]
        assert row[-1] == row[-3] == row[-5] == "ms"
        assert int(row[-2]) > 0  # the CUDA compiler takes its time
    assert [row[7] for row in cells] == ["64", "64", "32"]
    assert err == ""


def test_times(script):
    line = parse(COMPILE, [str(script)])
    done, sources = compile_tile.compile_file(line, "cuda:sm_90a", "tilewright compile")
    assert sources.refused == ()
    assert [each.name for each in done] == ["scale", "scale", "shift"]
    for each in done:
        assert 0 < each.trace_seconds < 60
        assert 0 < each.pass_seconds < 60
        assert 0 < each.nvrtc_seconds < 60


def test_stages_from_tiles_to_instructions(script, capsys):
    shown = {}
    for stage in ("tile", "thread", "cuda", "ptx"):
        assert run(f"{script}:shift", "--target=cuda:sm_80", "--stage", stage) == 0
        shown[stage] = capsys.readouterr().out
    assert "tile.parallel" in shown["tile"]
    assert "simt.launch @shift_kernel" in shown["thread"]
    assert "tile.parallel" not in shown["thread"]
    assert "__global__ void __launch_bounds__(32, 1)\nshift_kernel(" in shown["cuda"]
    assert ".target sm_80" in shown["ptx"]
    pytest.importorskip("triton", reason="the disassembler comes with Triton, not installed here")
    assert run(f"{script}:shift", "--target=cuda:sm_80", "--stage", "sass") == 0
    assert "EXIT" in capsys.readouterr().out


def test_settings_of_the_author_hold(script, capsys):
    assert run(f"{script}:scale", "--target=cuda:sm_90a", "--stage=ptx") == 0
    fast = capsys.readouterr().out
    script.write_text(script.read_text().replace("True", "False"))
    assert run(f"{script}:scale", "--target=cuda:sm_90a", "--stage=ptx") == 0
    exact = capsys.readouterr().out
    assert "ex2.approx.ftz.f32" in fast
    assert "ex2.approx.ftz.f32" in exact
    assert len(exact.splitlines()) > len(fast.splitlines())


def test_what_the_cuda_compiler_refuses_is_said_in_its_words(script, capsys):
    script.write_text(SCRIPT.replace("@tw.jit(pass", '@tw.jit(compile_flags="--foo", pass'))
    assert run(script, "--target", "cuda:sm_90a") == 2
    err = capsys.readouterr().err
    assert err == (
        "tilewright compile: NVRTC failed to compile the source for sm_90a\n"
        "nvrtc: error: unrecognized option --foo found\n"
    )


MISSING = "NVRTC is not installed: pip install it"


@pytest.fixture
def without_nvrtc(monkeypatch):
    def missing():
        raise NvrtcMissing(MISSING)

    monkeypatch.setattr("tilewright.targets.cuda.nvrtc.nvrtc", missing)


@pytest.mark.usefixtures("without_nvrtc")
@pytest.mark.parametrize("stage", [(), ("--stage", "ptx")])
def test_a_machine_without_the_cuda_compiler(script, capsys, stage):
    assert run(script, "--target", "cuda:sm_90a", *stage) == 2
    assert capsys.readouterr() == (
        "",
        f"tilewright compile: {MISSING}; --stage cuda prints the source without it\n",
    )


def test_the_cuda_source_needs_no_compiler(script, capsys, monkeypatch, request):
    options = (f"{script}:scale", "--target", "cuda:sm_90a", "--stage")
    stages = ("tile", "thread", "cuda")

    def texts():
        found = {}
        for stage in stages:
            assert run(*options, stage) == 0
            found[stage] = capsys.readouterr()
        return found

    compiled = texts()
    request.getfixturevalue("without_nvrtc")
    alone = texts()
    # A kernel that spills nothing has one form.
    assert {stage: each.out for stage, each in alone.items()} == {
        stage: each.out for stage, each in compiled.items()
    }
    assert "__global__" in alone["cuda"].out
    assert alone["tile"].err == ""
    assert alone["cuda"].err == alone["thread"].err
    assert alone["cuda"].err.startswith("tilewright compile: NVRTC is not installed: registers are")


@pytest.mark.usefixtures("without_nvrtc")
def test_without_the_cuda_compiler_sources_are_written(script, tmp_path, capsys):
    folder = tmp_path / "out"
    assert run(f"{script}:scale", "--target", "cuda:sm_90a", "-o", folder) == 2
    assert capsys.readouterr().err == (
        f"tilewright compile: {MISSING}; {folder} has the source and the IR, and no machine code\n"
    )
    assert {path.name.partition(".")[2] for path in folder.iterdir()} == {
        "cu",
        "thread.mlir",
        "tile.mlir",
    }


def test_a_kernel_with_other_settings_is_another_one(script, capsys):
    head = SCRIPT.split("@tw.jit(out_idx")[0]
    script.write_text(
        head + "x = np.ones(100, np.float32)\nscale(x)\ntw.jit(scale.function, target='cuda')(x)\n"
    )
    assert run(script, "--target", "cuda:sm_90a", "--stage", "ptx") == 0
    fast, plain = capsys.readouterr().out.split("// scale_kernel-2\n")
    assert fast.count("ex2.approx") == plain.count("ex2.approx") == 1
    assert "fma.rn" in plain and "fma.rn" not in fast


def test_everything_is_written(script, tmp_path, capsys):
    folder = tmp_path / "out"
    assert run(f"{script}:scale", "--target", "cuda:sm_90a", "-o", folder) == 0
    assert {path.name for path in folder.iterdir()} == {
        f"{name}{number}.{kind}"
        for number in ("", "-2")
        for name, kind in [
            *[("scale", kind) for kind in ("tile.mlir", "thread.mlir")],
            *[("scale_kernel", kind) for kind in ("cu", "ptx", "cubin", "json")],
        ]
    }
    assert (folder / "scale_kernel.cubin").read_bytes().startswith(b"\x7fELF")
    facts = json.loads((folder / "scale_kernel.json").read_text())
    assert facts["parameters"] == ["ptr", "ptr"]
    assert facts["threads"] == 64


def test_ir_text(tmp_path, capsys):
    file = tmp_path / "twice.mlir"
    file.write_text(TEXT)
    assert run(file, "--target", "cuda:sm_80") == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["twice_kernel", "sm_80"]
    file.write_text(TEXT.replace("arith.addf %v, %v", "arith.addf %v, %u"))
    assert run(file, "--target", "cuda:sm_80") == 2
    assert f"{file}:6:" in capsys.readouterr().err


def test_remarks(tmp_path, capsys):
    file = tmp_path / "hint.py"
    file.write_text(
        SCRIPT.split("@tw.jit(out_idx")[0].replace(
            "        for i in",
            "        T.annotate_l2_hit_ratio({X: 0.5})\n"
            "        T.atomic_add(X[bx], 1.0)\n"
            "        for i in",
        )
        + "scale(np.ones(100, np.float32))\n"
    )
    assert run(file, "--target", "cuda:sm_90a", "--remarks") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("scale_kernel")
    assert "remark[TW6015]: the L2 hit ratio 0.5 of X not applied to 1 of its accesses" in err


CROWDED = """\
from tests.targets.cuda.test_spills import product
import numpy as np
import tilewright as tw

a = np.ones((256, 256), np.float16)
tw.compile(product(10), target="cuda:sm_80")(a, a, np.ones((256, 256), np.float32))
"""


def test_a_warning_needs_no_flag(tmp_path, capsys):
    path = tmp_path / "crowded.py"
    path.write_text(CROWDED)
    assert command.run([str(path), "--target", "cuda:sm_80"], "tilewright compile") == 0
    err = capsys.readouterr().err
    assert "warning[TW5012]: main_kernel: " in err
    assert "remark[" not in err
    assert (
        command.run([str(path), "--target", "cuda:sm_80", "--remarks"], "tilewright compile") == 0
    )
    err = capsys.readouterr().err
    assert err.count("warning[TW5012]") == err.count("remark[TW5013]") == 1


def test_the_machine_is_as_it_was(script, capsys):
    from tilewright.runtime.tile import jit
    from tilewright.runtime.tile.kernel import CompiledTileKernel

    eager = import_module("tilewright.language.T.eager")

    def machine():
        return jit.checked_target, eager.trace_into_module, CompiledTileKernel.launch

    before = machine()
    script.write_text("raise KeyError('early')\n")
    with pytest.raises(SystemExit):
        run(script, "--target", "cuda:sm_90a")
    assert machine() == before


def test_a_script_that_misses_a_file_says_which(script, capsys):
    script.write_text("open('no_such_file.bin')\n")
    with pytest.raises(SystemExit):
        run(script, "--target", "cuda:sm_90a")
    shown = capsys.readouterr().err
    assert "no_such_file.bin" in shown
    assert "tilewright/cli" not in shown


def test_texts_of_several_kernels_have_names(script, capsys):
    assert run(script, "--target=cuda:sm_80", "--stage", "cuda") == 0
    texts = capsys.readouterr().out.split("// -----\n")
    assert [text.partition("\n")[0] for text in texts] == [
        "// scale_kernel",
        "// scale_kernel-2",
        "// shift_kernel",
    ]
    assert all(text.count("__global__") == 1 for text in texts)


@pytest.mark.parametrize("stage", ["tile", "thread"])
def test_ir_of_several_functions_can_be_read_again(script, stage, tmp_path, capsys):
    assert run(script, "--target=cuda:sm_80", "--stage", stage) == 0
    shown = capsys.readouterr().out
    texts = shown.split("// -----\n")
    assert [text.partition("\n")[0] for text in texts] == ["// scale", "// scale-2", "// shift"]
    path = tmp_path / "several.mlir"
    path.write_text(shown)
    assert opt.run(["--split-input-file", str(path)]) == 0
    read = capsys.readouterr().out
    assert [read.count(f"func.func public @{name}(") for name in ("scale", "shift")] == [2, 1]


def test_one_kernel_stands_alone(script, capsys):
    assert run(f"{script}:shift", "--target=cuda:sm_80", "--stage", "cuda") == 0
    assert "// shift_kernel" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.py"], "cannot read 'absent.py': no such file"),
        (["absent.mlir"], "cannot read 'absent.mlir'"),
        (["x.mlir", "--stage", "ttir"], "'ttir' is not one of tile, thread, cuda, ptx, sass"),
        (["x.mlir", "--num-warps", "4"], "--num-warps applies to the target triton only"),
    ],
)
def test_what_is_refused(arguments, message, capsys):
    assert run(*arguments, "--target", "cuda:sm_90a") == 2
    assert message in capsys.readouterr().err


def test_files_without_tile_kernels(tmp_path, capsys):
    text, script = tmp_path / "none.mlir", tmp_path / "none.py"
    text.write_text("func.func @f() {\n  func.return\n}\n")
    script.write_text("x = 1\n")
    assert run(text, "--target", "cuda:sm_90a") == 2
    assert "has no kernel" in capsys.readouterr().err
    assert run(script, "--target", "cuda:sm_90a") == 2
    assert (
        "called no T kernel and launched no tl or tlx kernel, so nothing was compiled"
        in capsys.readouterr().err
    )


def test_a_tl_kernel_that_is_only_defined(tmp_path, capsys):
    script = tmp_path / "add.py"
    script.write_text("import tilewright as tw\n\n\n@tw.jit\ndef add(x_ptr):\n    pass\n")
    assert run(script, "--target", "cuda:sm_90a") == 2
    assert "it defines add and never launches it: add a launch" in capsys.readouterr().err
