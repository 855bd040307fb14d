"""Eager kernels: the survey of the parameters, solving sizes, specialisation."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.language.T.eager import Eager, is_eager


def tensor(*shape, dtype="float32"):
    return SimpleNamespace(shape=shape, dtype=dtype)


def add(A, B, block=32, dtype="float32"):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    B: T.Tensor((N,), dtype)
    C = T.empty((M, N + 1), "float16")
    D = T.empty((M,))
    with T.Kernel(T.ceildiv(M, block)) as bx:
        for i, j in T.Parallel(block, N):
            C[bx * block + i, j] = A[bx * block + i, j] + B[j]
    return D, C


def test_the_survey_leaves_the_kernel_out():
    seen = []

    def kernel(A):
        M = T.const("M")
        A: T.Tensor((M, 2 * M), "int8")
        with T.Kernel(M):
            seen.append(M)
        return A

    eager = Eager(kernel)
    survey = eager.survey({"A": tensor(4, 8)})
    assert seen == []
    (param,) = survey.params
    assert [str(size) for size in param.shape] == ["M", "2 * M"]
    assert survey.returned == (0,)
    assert list(survey.symbols) == ["M"]


def test_both_phases():
    eager = Eager(add)
    arguments = eager.bind((tensor(100, 64), tensor(64)), {"block": 16})
    survey = eager.survey(arguments)
    assert [param.name for param in survey.params] == ["A", "B"]
    assert [(param.name, str(param.dtype)) for param in survey.outputs] == [
        ("C", "float16"),
        ("D", "float32"),
    ]
    known = eager.unify(survey, {"A": (100, 64), "B": (64,)})
    assert known == {"M": 100, "N": 64}
    found = eager.specialise(arguments, known)
    assert [param.name for param in found.params] == ["A", "B", "C", "D"]
    assert found.params[2].shape == (100, 65)
    assert found.params[2].is_output
    assert found.returned == (3, 2)
    text = found.script()
    assert "tile.kernel (%bx) in (7) threads(128)" in text
    assert "tile.parallel (%i, %j) in (16, 64)" in text


def test_the_key_holds_constants_and_sizes():
    eager = Eager(add)

    def key(*args, **kwargs):
        arguments = eager.bind(args, kwargs)
        survey = eager.survey(arguments)
        shapes = {param.name: arguments[param.name].shape for param in survey.params}
        return eager.key(arguments, eager.unify(survey, shapes))

    first = key(tensor(100, 64), tensor(64))
    assert hash(first) == hash(key(tensor(100, 64), tensor(64)))
    assert first == key(tensor(100, 64), tensor(64), block=32)
    assert first != key(tensor(100, 64), tensor(64), block=16)
    assert first != key(tensor(100, 32), tensor(32))
    assert first != key(tensor(100, 64), tensor(64), dtype="float16")


def test_dynamic_sizes_are_not_part_of_the_key():
    def kernel(A, block=8):
        m = T.dynamic("m")
        K = T.const("K")
        A: T.Tensor((m, K), "float32")
        with T.Kernel(T.ceildiv(m, block)) as bx:
            A[bx, 0] = m

    eager = Eager(kernel)
    keys = set()
    for rows in (3, 5):
        arguments = eager.bind((tensor(rows, 4),), {})
        known = eager.unify(eager.survey(arguments), {"A": (rows, 4)})
        assert known == {"m": rows, "K": 4}
        keys.add(eager.key(arguments, known))
    assert len(keys) == 1
    text = eager.trace(tensor(3, 4)).script()
    assert 'memref<?x4xf32, #global> {tile.dtype = "float32"' in text
    assert "memref.dim" in text


def test_expressions_are_solved_where_one_unknown_is_left():
    def kernel(A, B, C):
        M, N, K = T.const("M, N, K")
        A: T.Tensor((M + N, N * K), "float32")
        B: T.Tensor((T.ceildiv(M, 4), K - 1), "float32")
        C: T.Tensor((N,), "float32")
        with T.Kernel(1):
            pass

    eager = Eager(kernel)
    shapes = {"A": (13, 30), "B": (2, 5), "C": (5,)}
    arguments = {name: tensor(*shape) for name, shape in shapes.items()}
    survey = eager.survey(arguments)
    assert eager.unify(survey, shapes) == {"M": 8, "N": 5, "K": 6}
    shapes["B"] = (3, 5)
    with pytest.raises(CompileError) as caught:
        eager.unify(survey, shapes)
    assert (
        "kernel.B has size 3 in dimension 0, but 2 = ceildiv(M, 4) with M = 8 is expected"
        in str(caught.value)
    )


def test_a_size_that_cannot_be_solved():
    def kernel(A):
        M, N = T.const("M, N")
        A: T.Tensor((M * N,), "float32")
        with T.Kernel(1):
            pass

    with pytest.raises(CompileError) as caught:
        Eager(kernel).trace(tensor(12))
    assert "error[TW1031]: kernel: M, N cannot be solved from the shapes of the arguments" in str(
        caught.value
    )
    assert "A dimension 0: M * N = 12" in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, 4, 4), "kernel.A has 3 dimensions (4, 4, 4), but it is declared with 2: (M, M)"),
        ((4, 5), "kernel.A has size 5 in dimension 1, but 4 = M is expected"),
    ],
)
def test_shapes_that_contradict_the_declaration(shape, message):
    def kernel(A):
        M = T.const("M")
        A: T.Tensor((M, M), "float32")
        with T.Kernel(1):
            pass

    with pytest.raises(CompileError) as caught:
        Eager(kernel).trace(tensor(*shape))
    assert message in str(caught.value)
    assert "error[TW1032]" in str(caught.value)


def test_a_constant_decides_nothing_before_it_is_known():
    def kernel(A):
        M = T.const("M")
        A: T.Tensor((M,), "float32")
        if M > 4:
            pass
        with T.Kernel(1):
            pass

    with pytest.raises(CompileError, match=r"have no value yet: .* Move it inside `with T.Kernel"):
        Eager(kernel).trace(tensor(8))


def test_a_constant_is_no_number_of_python_before_it_is_known():
    def kernel(A):
        M = T.const("M")
        A: T.Tensor((M,), "float32")
        float(M * 2)
        with T.Kernel(1):
            pass

    with pytest.raises(CompileError, match=r"M \* 2 has no value yet: .* inside `with T.Kernel"):
        Eager(kernel).trace(tensor(8))


def test_a_size_of_a_tensor_that_cannot_be_solved():
    def kernel(A):
        M = T.const("M")
        A: T.Tensor((M,), "float32")
        B = T.empty((M, M**2), "float32")
        with T.Kernel(1):
            B[0, 0] = 1.0
        return B

    with pytest.raises(CompileError, match=r"B: a tensor size must be an integer or an expression"):
        Eager(kernel).trace(tensor(8))


def test_numbers_made_of_sizes_before_the_kernel():
    """A scale, for instance: it is computed when the sizes are known."""

    def kernel(A):
        M, N = T.const("M, N")
        m = T.dynamic("m")
        A: T.Tensor((M, N, m), "float32")
        assert N % 4 == 0 and M < 100, "four columns at a time"
        scale = 1.44 / N**0.5
        half = T.rsqrt(2.0 * M) * m
        B = T.empty((M,), "float32")
        with T.Kernel(1) as bx:
            B[bx] = scale * half
        return B

    text = Eager(kernel).trace(tensor(8, 16, 3)).script()
    assert "arith.constant 3.600000e-01" in text  # 1.44 / 4
    assert "memref.dim" in text
    with pytest.raises(CompileError, match="assertion failed while tracing: four columns"):
        Eager(kernel).trace(tensor(8, 17, 3))


def test_python_around_the_kernel():
    def kernel(A, sizes, flag=None):
        N = T.const("N")
        if flag is None:
            flag = 2
        total = sum((size + 3) // 4 for size in sizes)
        shape = [total, N]
        BK = BV = flag * 2
        for size in sizes:
            BK += size
        A: T.Tensor(shape, "float32")
        with T.Kernel(total) as bx:
            A[bx, 0] = BK + BV + len(sizes)

    text = Eager(kernel).trace(tensor(5, 8), [4, 13]).script()
    assert "arith.constant 2.700000e+01 : f32" in text
    assert "in (5)" in text


def test_scalars_of_a_call():
    def kernel(A, n: T.int32, scale=2):
        M = T.const("M")
        A: T.Tensor((M,), "float32")
        with T.Kernel(1) as bx:
            A[bx] = n * scale

    found = Eager(kernel).trace(tensor(8), 5)
    assert [(param.name, param.kind) for param in found.params] == [
        ("A", "tensor"),
        ("n", "scalar"),
    ]
    assert "%n: i32" in found.script()


def test_const_belongs_into_an_eager_kernel():
    def kernel(A: T.Tensor((8,), "float32")):
        n = T.const("n")
        with T.Kernel(n):
            pass

    with pytest.raises(CompileError, match=r'T\.const\("n"\) is only for the body of an eager'):
        T.prim_func(kernel)


def test_an_annotation_of_what_is_no_parameter():
    def kernel(A):
        B: T.Tensor((4,), "float32")  # noqa: F842 - the mistake
        with T.Kernel(1):
            pass

    with pytest.raises(CompileError, match="B is annotated as a tensor, but it is not a parameter"):
        Eager(kernel).trace(tensor(4))


def test_what_is_an_eager_kernel():
    def factory(n):
        @T.prim_func
        def main(A: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                A[0] = 0

        return main

    assert is_eager(add)
    assert not is_eager(factory)
    assert factory(4).params[0].shape == (4,)


def test_a_tensor_is_declared_before_it_is_asked():
    def kernel(A):
        rows = A.shape[0]
        A: T.Tensor((rows,), "float32")
        with T.Kernel(1):
            pass

    with pytest.raises(CompileError, match=r"A\.shape is read before A is declared"):
        Eager(kernel).trace(tensor(4))


def test_a_forgotten_const():
    def kernel(A):
        A: T.Tensor((M, 4), "float32")  # noqa: F821 - the mistake
        with T.Kernel(1):
            pass

    with pytest.raises(CompileError) as caught:
        Eager(kernel).trace(tensor(4, 4))
    shown = str(caught.value)
    assert "error[TW1002]: M is not defined" in shown
    assert 'declare a size of the arguments first, for example M = T.const("M")' in shown


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda A: A[0], "A is read before A is declared: write A: T.Tensor(shape, dtype) first"),
        (lambda A: A.dtype, "A.dtype is read before A is declared"),
        (T.clear, "must be a buffer, a slice or an element of one, got A, which is not declared"),
    ],
)
def test_a_forgotten_declaration(use, message):
    def kernel(A):
        with T.Kernel(1):
            use(A)

    with pytest.raises(CompileError) as caught:
        Eager(kernel).trace(tensor(4))
    assert message in str(caught.value)


def test_functions_of_equal_code_in_two_files_are_told_apart(tmp_path: Path):
    """Annotations in the body are no part of Python's code, and say what a tensor holds."""
    text = """
from tilewright import T
import tilewright as tw

@tw.jit
def half(X):
    N = T.const("N")
    X: T.Tensor((N,), "TYPE")
    Y = T.empty((N,), X.dtype)
    with T.Kernel(1, threads=32):
        for i in T.Parallel(N):
            Y[i] = X[i]
    return Y
"""
    found: list[object] = []
    for name in ("float32", "float16"):
        path = tmp_path / f"half_of_{name}.py"
        path.write_text(text.replace("TYPE", name), encoding="utf-8")
        scope: dict[str, Any] = {"__name__": path.stem}
        exec(compile(path.read_text("utf-8"), str(path), "exec"), scope)
        kernel = scope["half"].compile(N=8)
        found.append(
            (str(kernel.params[0].dtype), path.name in str(kernel.prim_func.func.location))
        )
    assert found == [("float32", True), ("float16", True)]
