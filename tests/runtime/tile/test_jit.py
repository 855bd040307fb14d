"""`tw.jit` and `tw.compile` for kernels of `T`: modes, caches, sizes instead of tensors, sources."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.frontend.errors import FrontendError
from tilewright.ir.diagnostics import CompileError
from tilewright.runtime.tile.jit import TileJIT
from tilewright.runtime.tile.kernel import CompiledTileKernel


@tw.jit
def doubled(A, block=4, dtype="float32"):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    B = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(M, block)) as bx:
        part = T.alloc_fragment((block, N), dtype)
        T.copy(A[bx * block, 0], part)
        for i, j in T.Parallel(block, N):
            part[i, j] = part[i, j] * 2
        T.copy(part, B[bx * block, 0])
    return B


@tw.jit(out_idx=-1, pass_configs={tw.PassConfigKey.TL_ENABLE_FAST_MATH: True})
def made(n, factor=2):
    @T.prim_func
    def times(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1) as _:
            for i in T.Parallel(n):
                B[i] = A[i] * factor

    return times


def test_an_eager_kernel_is_kept_per_shape_and_constants():
    jitted = TileJIT(doubled.function)
    a = np.arange(30, dtype=np.float32).reshape(5, 6)
    for _ in range(2):
        assert (jitted(a) == 2 * a).all()
    assert len(jitted.cache) == 1
    jitted(a, block=2)
    jitted(a[:3])
    assert len(jitted.cache) == 3
    assert jitted.is_eager


def test_keywords_choose_the_kernel_of_repeated_calls():
    @tw.jit
    def scaled(A, B, factor=2):
        A: T.Tensor((8,), "float32")
        B: T.Tensor((8,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(8):
                B[i] = A[i] * factor

    a, b, c = np.arange(8, dtype=np.float32), np.empty(8, np.float32), np.empty(8, np.float32)
    for _ in range(2):
        for factor in (3, 5):
            scaled(a, b, factor=factor)
            assert (b == factor * a).all()
            scaled(B=c, factor=factor, A=a)
            assert (c == factor * a).all()
        scaled(a, B=b)
        assert (b == 2 * a).all()
        scaled(B=b, A=c)
        assert (b == 2 * c).all()
    assert len(scaled.cache) == 3


def test_a_factory_gives_a_kernel():
    kernel = made(8)
    assert isinstance(kernel, CompiledTileKernel)
    assert made(8) is kernel
    assert made(8, factor=3) is not kernel
    a = np.arange(8, dtype=np.float32)
    assert (kernel(a) == 2 * a).all()
    assert (made(8, factor=3)(a) == 3 * a).all()
    assert kernel.out_idx == (1,)
    assert [param.name for param in kernel.params] == ["A", "B"]


def test_sizes_instead_of_tensors():
    kernel = doubled.compile(M=5, N=6, block=2)
    a = np.ones((5, 6), np.float32)
    assert doubled.compile(a, block=2) is kernel
    assert (kernel(a) == 2).all()
    assert "tile.kernel" in doubled.get_tir(M=5, N=6).script()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"M": 5}, r"N is missing: doubled\.compile\(M=5, N=\.\.\.\)"),
        ({}, r"M, N are missing: doubled\.compile\(M=\.\.\., N=\.\.\.\)"),
        ({"M": 5, "N": 6, "K": 7}, "'K' is neither a parameter nor a size of doubled; parameters: "
                                   "A, block, dtype; sizes: M, N"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit(sizes, message):
    with pytest.raises((TypeError, tw.CompileError), match=message):
        doubled.compile(**sizes)


def test_out_idx_is_not_for_eager_kernels():
    jitted = TileJIT(doubled.function, out_idx=[1])
    with pytest.raises(ValueError, match=r"declare its outputs with T\.empty"):
        jitted(np.ones((5, 6), np.float32))


def test_a_factory_returns_a_prim_func():
    with pytest.raises(TypeError, match="returned 3, expected the function"):
        TileJIT(lambda: 3)()


@tw.jit
def without_kernel(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    for i in T.Parallel(8):
        A[i] = 0.0


def test_a_kernel_that_forgets_its_launch():
    with pytest.raises(tw.CompileError, match=r"put it inside `with T.Kernel\(...\)`") as caught:
        without_kernel(np.zeros(8, np.float32))
    assert "|         A[i] = 0.0" in str(caught.value)


def test_mistakes_of_a_factory_are_placed():
    with pytest.raises(tw.CompileError, match="a size cannot be negative") as caught:
        made(-1)
    assert "test_jit.py:" in str(caught.value)
    assert "def times(A: T.Tensor((n,)" in str(caught.value)


def test_several_at_once():
    one, none = made.par_compile([(8,), {"nonsense": 1}], ignore_error=True)
    assert one is made(8)
    assert none is None
    with pytest.raises(TypeError):
        made.par_compile([{"nonsense": 1}])


def test_sources(tmp_path, capsys):
    kernel = made(8)
    assert "def times(" in kernel.get_kernel_source()
    assert "times(A)" in kernel.get_host_source()
    kernel.show_source()
    assert capsys.readouterr().out == f"{kernel.get_kernel_source()}\n"
    kernel.export_sources(str(tmp_path / "kernel.py"), str(tmp_path / "host.py"))
    assert (tmp_path / "kernel.py").read_text() == kernel.get_kernel_source()
    assert (tmp_path / "host.py").read_text() == kernel.get_host_source()
    with pytest.raises(NotImplementedError, match="has no library"):
        kernel.export_library("kernel.so")
    assert (kernel.n_regs, kernel.n_spills) == (None, None)


def test_lower_gives_the_parts():
    traced = made.get_tir(8)
    parts = tw.lower(traced)
    assert parts.params == traced.params
    assert parts.kernel_source == made(8).get_kernel_source()
    assert parts.device_mod is not traced.module
    assert tw.lower(traced.module).kernel_source == parts.kernel_source


@pytest.mark.parametrize("target", ["auto", "numpy", None, {"kind": "auto"}])
def test_targets_of_this_machine(target):
    assert tw.compile(made.get_tir(8), out_idx=-1, target=target).target == "numpy"


def test_targets_elsewhere():
    assert tw.compile(made.get_tir(8), target="cuda -arch=sm_80").target == "cuda:sm_80"
    assert tw.compile(made.get_tir(8), target="cuda:sm_90").target == "cuda:sm_90a"
    with pytest.raises(ValueError, match="unknown target 'hip:gfx803': expected hip or an archi"):
        tw.compile(made.get_tir(8), target="hip:gfx803")
    with pytest.raises(ValueError, match="unknown target 'vax'"):
        tw.compile(made.get_tir(8), target="vax")
    with pytest.raises(
        ValueError, match="unknown target 'cuda:h200': expected cuda or an architecture"
    ):
        tw.compile(made.get_tir(8), target="cuda:h200")


def test_settings_that_nobody_knows_are_told_once():
    with pytest.warns(UserWarning, match=r"unknown key 'tl\.make_it_fast' ignored") as caught:
        for _ in range(2):
            tw.compile(made.get_tir(8), pass_configs={"tl.make_it_fast": True})
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_settings_with_a_slip_are_told_what_was_meant():
    with pytest.warns(UserWarning, match=r"did you mean 'tl\.disable_wgmma'\?"):
        tw.compile(made.get_tir(8), pass_configs={"tl.disable_wgma": True})
    with pytest.raises(
        ValueError, match=r"'tl\.ptxas_register_usage_level' must be 0 to 10, got 11"
    ):
        tw.compile(made.get_tir(8), pass_configs={"tl.ptxas_register_usage_level": 11})


def test_compile_takes_traced_functions_only():
    with pytest.raises(TypeError, match=r"decorated with @T\.prim_func"):
        tw.compile(3)


def test_options_of_runs():
    a = np.ones(8, np.float32)
    lines = []
    with tw.tile_running(checked=False, output=lines.append) as options:
        assert not options.checked
        assert (made(8)(a) == 2).all()
    with pytest.raises(TypeError, match="unknown option 'speed'"), tw.tile_running(speed=2):
        pass


amount = 1


@tw.jit
def around(A):
    A: T.Tensor((4,), "int32")
    B = T.empty((4,), "int32")
    with T.Kernel(1) as _:
        for i in T.Parallel(4):
            B[i] = A[i] + amount
    return B


def test_kernels_follow_what_is_around_them(monkeypatch):
    a = np.zeros(4, np.int32)
    assert around(a).tolist() == [1] * 4
    kernel = around.compile(a)
    monkeypatch.setitem(globals(), "amount", 7)
    assert not kernel.is_current
    assert around(a).tolist() == [7] * 4
    assert around.compile(a) is not kernel


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.bool_])
def test_numbers_of_numpy_are_numbers(kind):
    """They have a shape, and what counts is their value."""

    @tw.jit
    def times(A, factor):
        M = T.const("M")
        A: T.Tensor((M,), "float32")
        B = T.empty((M,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(M):
                B[i] = A[i] * int(factor)
        return B

    ones = np.ones(4, np.float32)
    assert [float(times(ones, kind(number))[0]) for number in (0, 1, 0)] == [0, 1, 0]


def test_a_table_of_a_factory_counts_with_all_its_numbers():
    """The text of a long array leaves its middle out."""

    @tw.jit(out_idx=-1)
    def picked(table):
        number = float(table[1000])

        @T.prim_func
        def main(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(4):
                    B[i] = A[i] + number

        return main

    first, second = np.zeros(2000, np.float32), np.zeros(2000, np.float32)
    second[1000] = 5
    zeros = np.zeros(4, np.float32)
    assert [float(picked(table)(zeros)[0]) for table in (first, second)] == [0, 5]
    assert picked(table=first) is picked(table=first.copy())


def test_numbers_of_other_types_make_other_kernels():
    assert made(8, factor=1) is not made(8, factor=True)
    assert made(8, factor=1) is made(8, factor=1)


def too_much(n=8):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            part = T.alloc_shared((1 << 20,), "float32")
            T.copy(A, part[:n])
            T.copy(part[:n], A)

    return main


@tw.jit
def too_much_eager(A):
    A: T.Tensor((8,), "float32")
    with T.Kernel(1, threads=32):
        part = T.alloc_shared((1 << 20,), "float32")
        T.copy(A, part[:8])
        T.copy(part[:8], A)


@pytest.mark.parametrize(
    "compile",
    [
        lambda: tw.jit(too_much, target="cuda:sm_90a").compile(),
        lambda: tw.jit(too_much_eager.function, target="cuda:sm_90a").compile(),
        lambda: tw.compile(too_much(), target="cuda:sm_90a"),
        lambda: tw.jit(too_much, target="cuda:sm_90a").par_compile([{"n": 8}]),
    ],
    ids=["factory", "eager", "traced", "several"],
)
def test_compile_compiles_before_it_returns(compile):
    with pytest.raises(tw.CompileError, match="shared memory"):
        compile()


def test_compile_makes_the_program_for_this_machine():
    kernel = doubled.compile(M=5, N=6)
    assert "program" in vars(kernel)


def test_annotated_settings_take_effect():
    @T.prim_func
    def settled(A):
        A: T.Tensor((8,), "float32")
        B = T.empty((8,), "float32")
        T.annotate_pass_configs({"tl.enable_fast_math": True})
        T.annotate_compile_flags(["-lineinfo", "-Wno-deprecated-declarations"])
        with T.Kernel(1, threads=8):
            for i in T.Parallel(8):
                B[i] = T.exp(A[i])
        return B

    assert settled.attrs["tilelang_out_idx"] == [-1]
    kernel = tw.compile(settled, compile_flags="--expt-relaxed-constexpr --ptxas-options=-v,-O3")
    assert kernel.settings_for("sm_90a").options == (
        *("--use_fast_math", "-lineinfo", "--ptxas-options=-v", "--ptxas-options=-O3"),
    )
    plain = tw.compile(settled, pass_configs={"tl.enable_fast_math": False})
    assert plain.settings_for("sm_90a").options == ("-lineinfo",)
    with pytest.raises(ValueError, match="Out index conflict: settled returns its outputs"):
        tw.compile(settled, out_idx=[-1])


def test_a_subscript_may_be_a_shape_alone():
    n = T.dynamic("n")
    assert T.Tensor[(n,)] == T.Tensor((n,), "float32")
    assert T.Tensor[4, 8, "int8"] == T.Tensor((4, 8), "int8")


def test_tensors_of_pointers_are_refused():
    with pytest.raises(FrontendError, match="a tensor of pointers is not supported"):
        T.Tensor([4], T.ptr)


@tw.jit
def split(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    whole = T.empty(N, "float32")
    part = T.empty(2, N // 2, dtype=T.int32)
    with T.Kernel(1, threads=32):
        for i in T.Parallel(N):
            whole[i] = T.floor(A[i])
        for i, j in T.Parallel(2, N // 2):
            part[i, j] = i
    return whole, part


def test_several_outputs_are_a_list_and_their_sizes_may_be_arguments():
    found = split(np.arange(8, dtype=np.float32) + 0.5)
    assert isinstance(found, list)
    np.testing.assert_array_equal(found[0], np.arange(8, dtype=np.float32))
    np.testing.assert_array_equal(found[1], np.array([[0] * 4, [1] * 4], np.int32))


def test_a_shape_and_sizes_are_not_mixed():
    @tw.jit
    def kernel(A):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32", dtype="float16")
        with T.Kernel(1):
            B[0] = A[0]
        return B

    with pytest.raises(CompileError, match=r"T\.empty takes a shape and a dtype"):
        kernel(np.zeros(4, np.float32))


def test_a_grid_in_brackets_is_that_of_another_language():
    @tw.jit
    def doubled(X):
        X: T.Tensor((64,), "float32")
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                X[i] = X[i] * 2

    with pytest.raises(TypeError, match=r"doubled is a kernel of T, whose grid is in T\.Kernel"):
        doubled[(1,)](np.ones(64, np.float32))
