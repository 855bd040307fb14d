"""``import tilelang`` served by Tilewright, and whole scripts for TileLang, none of them changed."""

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

import tilewright as tw
from tests.compat.test_scripts import compat
from tilewright.compat import finder, install
from tilewright.compat.finder import StandIn
from tilewright.compat.modules import TRITON
from tilewright.compat.tilelang_modules import COMMIT, TILELANG, TVM
from tilewright.compat.torch_compile import run_compiled_functions_eagerly
from tilewright.frontend import builder
from tilewright.runtime.tile import settings

HERE = Path(__file__).parent
CPU_TIMES = "tilewright: times are measured on the CPU and do not predict GPU times\n"
NO_SOURCE = "tilewright: register_*_postproc has no effect: no GPU source is generated here\n"


@pytest.fixture
def stand_in(monkeypatch):
    """The import hooks, for one test."""

    def is_served(name: str) -> bool:
        return any(project.has(name) for project in (TRITON, TILELANG, TVM))

    real = {name: sys.modules.pop(name) for name in list(sys.modules) if is_served(name)}
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(finder, "_adapt_torch", lambda torch: None)
    monkeypatch.setattr(settings, "_arch", [None])
    monkeypatch.setattr(builder, "_outside", [])
    install()
    yield importlib.import_module("tilelang")
    for name in [name for name in sys.modules if is_served(name)]:
        del sys.modules[name]
    sys.modules.update(real)


def test_modules_are_made_of_tilewrights_functions(stand_in):
    assert isinstance(stand_in, StandIn)
    assert stand_in.__version__ == "0.1.13"
    assert stand_in.__file__ == finder.__file__
    assert stand_in.compile is tw.compile
    assert stand_in.PassConfigKey is tw.PassConfigKey
    assert stand_in.language.Kernel is tw.T.Kernel
    assert stand_in.language.float16 is tw.T.float16
    assert stand_in.tvm is importlib.import_module("tvm")
    assert stand_in.autotuner.AutoTuner is tw.AutoTuner


@pytest.mark.parametrize("name", sorted([*TILELANG.modules, *TVM.modules]))
def test_everything_in_the_table_exists(stand_in, name):
    module = importlib.import_module(name)
    assert isinstance(module, StandIn)
    assert [each for each in dir(module) if not hasattr(module, each)] == []


def test_all_of_the_language_is_offered(stand_in):
    assert [name for name in tw.T.__all__ if not hasattr(stand_in.language, name)] == []


def test_what_is_not_offered_is_refused_by_name(stand_in):
    with pytest.raises(AttributeError) as caught:
        _ = stand_in.profiler.do_bnech
    assert str(caught.value) == (
        "Tilewright's stand-in for TileLang 0.1.13 does not offer tilelang.profiler.do_bnech; "
        f"did you mean do_bench? (it follows {COMMIT}, a newer name is unknown)"
    )
    with pytest.raises(ImportError, match=r"does not offer tilelang\.quantum \(it follows"):
        importlib.import_module("tilelang.quantum")
    with pytest.raises(ImportError, match=r"TVM .* does not offer tvm\.quantum \(it follows"):
        importlib.import_module("tvm.quantum")
    with pytest.raises(AttributeError) as caught:
        _ = stand_in.language.alloc_shard
    assert str(caught.value) == (
        "Tilewright's stand-in for TileLang 0.1.13 does not offer tilelang.language.alloc_shard; "
        f"did you mean alloc_shared? (it follows {COMMIT}, a newer name is unknown)"
    )
    with pytest.raises(AttributeError, match=r"^T\.WSRole is not supported: the compiler assigns"):
        _ = stand_in.language.WSRole


def test_insides_of_the_compiler_can_be_imported_but_not_used(stand_in):
    rocm = importlib.import_module("tilelang.contrib.rocm")
    relax = importlib.import_module("tvm.relax")
    visitor = importlib.import_module("tvm.tirx").PyStmtExprVisitor
    assert not isinstance(3, visitor) and issubclass(type("Mine", (visitor,), {}), visitor)
    for use, name in (
        (lambda: rocm.find_lld(), "tilelang.contrib.rocm.find_lld"),
        (lambda: relax.op.add(1, 2), "tvm.relax.op.add"),
        (lambda: list(relax.names), "tvm.relax.names"),
        (lambda: bool(visitor), "tvm.tirx.PyStmtExprVisitor"),
        (lambda: stand_in.transform.LowerOpaqueBlock()(3), "tilelang.transform.LowerOpaqueBlock"),
    ):
        with pytest.raises(AttributeError) as caught:
            use()
        assert str(caught.value).endswith(f"does not offer {name}")


def test_expressions_outside_of_kernels(stand_in):
    tirx = importlib.import_module("tvm.tirx")
    value = tirx.Var("value", "float16")
    found = stand_in.language.__exp(value) + 1
    assert isinstance(found, tirx.Call) and found.dtype == "float16"
    pair = tirx.Var("pair", "bfloat16x2")
    assert stand_in.language.extract_lane(pair, 1).dtype == "bfloat16"
    with pytest.raises(
        TypeError, match=r"T\.__exp only supports floating-point inputs, but got int8"
    ):
        stand_in.language.__exp(tirx.Var("value", "int8"))
    with pytest.raises(TypeError, match="integer or boolean predicate"):
        stand_in.language.any_sync(tirx.FloatImm("float32", 0.5))
    with pytest.raises(ValueError, match="same dtype"):
        stand_in.language.add2(pair, tirx.Var("other", "float16x2"))


def test_tests_for_blackwell_run_where_it_is_described(stand_in, monkeypatch):
    monkeypatch.setattr("tilewright.compat.tilelang_testing.capability", lambda: (10, 0))

    def test():
        return 3

    assert stand_in.testing.requires_cuda_compute_version_ge(10, 0)(test) is test
    marked = stand_in.testing.requires_cuda_compute_version_eq(9, 0)(test)
    assert [mark.name for mark in marked.pytestmark] == ["skip"]


def test_tests_for_other_hardware_are_skipped(stand_in):
    testing = stand_in.testing

    def test():
        return 3

    assert testing.requires_cuda(test) is test
    assert testing.requires_cuda_compute_version_ge(9, 0)(test) is test
    assert testing.requires_cuda_compute_version(8)(test) is test
    assert testing.requires_package("numpy")(test) is test
    for marked in (
        testing.requires_cuda_compute_version_ge(10, 0)(test),
        testing.requires_cuda_compute_version_eq(8, 9)(test),
        testing.requires_rocm(test),
        testing.requires_package("no_such_package")(test),
    ):
        assert [mark.name for mark in marked.pytestmark][-1] == "skip"


def test_the_gpu_and_the_environment_are_described(stand_in, monkeypatch, tmp_path):
    nvcc = importlib.import_module("tilelang.contrib.nvcc")
    assert nvcc.get_target_compute_version("cuda -arch=sm_80") == "8.0"
    assert nvcc.get_target_compute_version("cuda:sm_100a") == "10.0"
    assert (nvcc.get_target_arch("9.0"), nvcc.get_target_arch((8, 0))) == ("90a", "80")
    assert nvcc.have_tma("sm_90a") and not nvcc.have_tma("sm_80") and nvcc.is_hopper("sm_90")
    assert nvcc.have_fp8("8.9") and not nvcc.have_fp8("8.0")
    monkeypatch.delenv("TILELANG_CACHE_DIR", raising=False)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    env = importlib.import_module("tilelang.env")
    assert f"{tmp_path}/tilelang" == env.TILELANG_CACHE_DIR
    with pytest.raises(AttributeError, match=r"does not offer tilelang\.env\.TILELANG_NO"):
        _ = env.TILELANG_NO


def test_torch_compile_leaves_functions_as_they_are():
    torch = SimpleNamespace()
    run_compiled_functions_eagerly(torch)

    def function():
        return 3

    assert torch.compile(function) is function
    assert torch.compile(dynamic=True)(function) is function


def test_bits_of_tvm(stand_in):
    tirx = importlib.import_module("tvm.tirx")
    target = importlib.import_module("tvm.target").Target("cuda -arch=sm_90a")
    assert (target.kind, str(target)) == ("cuda", "cuda -arch=sm_90a")

    @tw.T.prim_func
    def main(A: tw.T.Tensor((4,), "int32")):
        with tw.T.Kernel(1) as _:
            for i in tw.T.Parallel(4):
                half = tirx.Cast("int32", tirx.Min(tirx.Max(i, 1), 2))
                bits = tirx.reinterpret("int32", tirx.const(1.0, "float32"))
                A[i] = tirx.Select(i < 3, half, bits)

    made = tw.compile(main, out_idx=0)()
    assert made.tolist() == [1, 1, 2, 0x3F800000]


def test_functions_are_not_replaced_by_modules_of_their_name(stand_in):
    jit = stand_in.jit
    assert importlib.import_module("tilelang.jit").jit is jit
    assert stand_in.jit is jit


def test_targets_and_contexts_of_tvm(stand_in, capsys):
    target = importlib.import_module("tvm.target").Target
    assert target.current() is None
    with pytest.raises(ValueError, match="no `with Target"):
        target.current(allow_none=False)
    with target("cuda") as outer, target("c") as inner:
        assert (target.current(), str(outer)) == (inner, "cuda")
    assert target.current() is None
    with importlib.import_module("tvm.transform").PassContext(opt_level=3):
        pass
    assert capsys.readouterr().err == ""
    described = target({"kind": "cuda", "arch": "sm_90a"})
    assert str(described) == "cuda -arch=sm_90a"
    determine = importlib.import_module("tilelang.backend.target").determine_target
    assert determine(described, return_object=True) is described
    assert (determine(), determine(return_object=True).kind) == ("auto", "cuda")
    part = importlib.import_module("tvm.ir").Range.from_min_extent(3, 4)
    assert (part.min, part.extent) == (3, 4)


def test_conditions_of_tvm(stand_in):
    tirx = importlib.import_module("tvm.tirx")

    @tw.T.prim_func
    def main(A: tw.T.Tensor((4, 3), "int32")):
        with tw.T.Kernel(1) as _:
            for i in tw.T.Parallel(4):
                A[i, 0] = tirx.Select(tirx.And(i > 0, i < 3), tirx.IntImm("int32", 5), 0)
                A[i, 1] = tirx.Select(tirx.any(i == 0, i == 1, tirx.Not(i != 3)), 1, 0)
                A[i, 2] = tirx.Select(tirx.Or(tirx.all(i > 0, i < 2, i != 5), i == 3), 1, 0)

    made = tw.compile(main, out_idx=0)()
    assert made.tolist() == [[0, 1, 0], [5, 1, 1], [5, 0, 0], [0, 1, 1]]


def test_a_script_runs_unchanged():
    run = compat(str(HERE / "scripts" / "tile_kernels.py"))
    assert run.stderr == NO_SOURCE + CPU_TIMES
    assert run.stdout == (
        "['AutoTuner', 'autotune', 'get_autotune_inputs', 'set_autotune_inputs']\nversion 0.1.13\n"
    )
    assert run.returncode == 0


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: make torch")
def test_tensors_of_torch():
    run = compat(str(HERE / "scripts_torch" / "tile_kernels.py"))
    assert run.stdout == "all good\n", run.stderr
    assert 'the device "cuda" is the CPU here' in run.stderr
    assert "copied" not in run.stderr
    assert run.returncode == 0
