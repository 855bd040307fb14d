"""Tracing rules: what assignments, branches, loops and the like become."""

import warnings

import pytest

from tests.language.T.kernels import body, mistake, module_text, ops, position, without_constants
from tilewright import T
from tilewright.ir.diagnostics import CompileError


def test_a_branch_known_now_is_decided_now():
    flag = False

    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            if flag:
                A[bx] = 1
            else:
                A[bx] = 2

    assert (
        body(kernel)
        == "%c2_i32 = arith.constant 2 : i32\nmemref.store %c2_i32, %A[%bx] : memref<8xi32, #global>"
    )


def test_a_branch_of_the_kernel_has_both_sides():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            if bx < 4:
                A[bx] = 1
            else:
                A[bx] = 2

    assert without_constants(body(kernel)) == [
        "arith.cmpi",
        "scf.if",
        "memref.store",
        "memref.store",
    ]
    assert "} else {" in body(kernel)


def test_an_else_without_ops_is_not_written():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            if bx < 4:
                A[bx] = 1

    assert "else" not in body(kernel)


def test_branches_merge_scalars_and_convert_them():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            if A[bx] > 2:
                x = 1
            else:
                x = A[0]
            A[bx] = x

    text = body(kernel)
    assert "= scf.if %1 -> (f32) {" in text
    assert "arith.constant 1.000000e+00 : f32" in text
    assert "sitofp" not in text


def test_a_variable_of_one_branch_has_no_value_behind_it():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            if bx > 2:
                x = A[bx]
            A[bx] = x

    assert "only the then branch of the if in line" in mistake(kernel)
    assert position(kernel) == (4, "x")


def test_while_with_a_value_of_the_kernel():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            while A[0] < 4:
                A[0] += 1

    assert without_constants(body(kernel)) == [
        "scf.while",
        *("memref.load", "arith.cmpi", "scf.condition"),
        *("memref.load", "arith.addi", "memref.store"),
        "scf.yield",
    ]


def test_while_true_is_an_error():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            while True:
                A[bx] = 1

    assert mistake(kernel).startswith("error[TW1023]: Infinite while loop detected")
    assert position(kernel) == (2, "True")


def test_while_false_warns_and_drops_its_body():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            while False:
                A[bx] = 1

    with pytest.warns(UserWarning, match="always false: its body is removed"):
        assert body(kernel) == ""


def test_range_is_a_serial_loop():
    def ranged(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            for i in range(2, 8, 3):
                A[i] = bx

    def serial(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            for i in T.serial(2, 8, 3):
                A[i] = bx

    assert body(ranged) == body(serial)
    assert "scf.for %i = %c2 to %c8 step %c3" in body(ranged)


def test_range_to_a_value_of_the_kernel():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            for i in range(bx):
                A[i] = 0

    assert "scf.for %i = %c0 to %bx step %c1" in body(kernel)


@pytest.mark.parametrize(
    "iterable", [[1, 2], (1, 2), zip((1,), (2,), strict=True), enumerate((1,)), "ab", 3]
)
def test_other_iterables_are_refused(iterable):
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            for _ in iterable:
                A[bx] = 0

    assert mistake(kernel).startswith("error[TW1024]: Invalid for loop, got ")


def test_iterating_over_a_buffer_is_refused():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            for x in A:
                A[bx] = x

    assert mistake(kernel).startswith("error[TW1024]: Invalid for loop, got ")


def test_assigning_a_cell_stores():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            x = T.alloc_var("int32")
            x = 5
            y = x
            x = A[bx]
            A[bx] = y + x

    text = body(kernel)
    assert text.count("memref.store") == 3
    # y is the value that x had, read where it was bound
    assert without_constants(text) == [
        "tile.alloc",
        *("memref.store", "memref.load", "memref.load", "memref.store"),
        *("memref.load", "arith.addi", "memref.store"),
    ]


def test_numbers_and_lists_stay_pythons():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            sizes = [1, 2]
            sizes.append(3)
            a, (b, c) = sizes[0], sizes[1:]
            A[a] = b + c + len(sizes) + sum(size for size in sizes)

    assert "arith.constant 14 : i32" in body(kernel)


def test_rebinding_a_value_warns():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            x = A[bx]
            x = x + 1
            A[bx] = x

    message = "Immutable value `x` is re-bound; use T.alloc_var to create a mutable variable."
    with pytest.warns(UserWarning, match=message) as caught:
        T.prim_func(kernel)
    assert [each.lineno for each in caught] == [kernel.__code__.co_firstlineno + 3]


def test_the_same_name_in_two_scopes_does_not_warn():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            for i in T.serial(4):
                x = A[i]
                A[i] = x + 1
            for i in T.serial(4):
                x = A[i]
                A[i] = x + bx

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        T.prim_func(kernel)


def test_an_annotation_converts():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            x: T.int32 = A[bx]
            A[bx] = x

    assert without_constants(body(kernel)) == [
        *("memref.load", "arith.fptosi", "arith.sitofp", "memref.store"),
    ]


def test_augmented_assignment_of_elements_and_cells():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            x = T.alloc_var("float32", init=1.0)
            x *= 2
            A[bx] -= x

    assert without_constants(body(kernel)) == [
        *("tile.alloc", "memref.store"),
        *("memref.load", "arith.mulf", "memref.store"),
        *("memref.load", "memref.load", "arith.subf", "memref.store"),
    ]


def test_and_is_short_circuited_where_the_right_side_reads_memory():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(9) as bx:
            if bx < 8 and A[bx] > 0:
                A[bx] = 1

    text = body(kernel)
    assert "= scf.if %0 -> (i1) {" in text
    assert text.index("scf.if") < text.index("memref.load")


def test_and_of_pure_sides_is_one_op():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(9) as bx:
            if 2 < bx < 8 or bx == 0:
                A[bx] = 1

    assert without_constants(body(kernel)) == [
        *("arith.cmpi", "arith.cmpi", "arith.andi", "arith.cmpi", "arith.ori"),
        *("scf.if", "memref.store"),
    ]


def test_a_conditional_expression_selects_or_branches():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            x = A[bx]
            A[bx] = x * 2 if bx < 4 else x
            A[0] = A[1] if bx < 4 else 0

    assert without_constants(body(kernel)) == [
        *("memref.load", "arith.cmpi", "arith.mulf", "arith.select", "memref.store"),
        *("arith.cmpi", "scf.if", "memref.load", "scf.yield", "scf.yield", "memref.store"),
    ]


def test_break_and_continue_are_structured():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            for i in T.serial(8):
                if A[i] == 0:
                    continue
                if A[i] < 0:
                    break
                A[i] = bx

    text = body(kernel)
    assert text.count("tile.alloc") == 2  # the flags
    assert "cf.cond_br" not in text
    # the rest of the body is guarded twice, the whole turn once
    assert text.count("scf.if") == 5


def test_nothing_may_follow_break():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            for i in T.serial(8):
                break
                A[i] = bx

    assert "unreachable code after break" in mistake(kernel)
    assert position(kernel) == (4, "A[i] = bx")


def test_break_needs_a_serial_loop():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                if A[i] > 0:
                    break

    assert mistake(kernel).startswith(
        "error[TW1025]: break is for serial, unrolled and while loops"
    )


def test_assert_is_checked_now_or_by_the_device():
    size = 8

    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            assert size == 8
            assert A[bx] > 0, "positive"

    assert 'tile.assert %1, "positive"' in body(kernel)


def test_a_false_assert_names_its_message():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            assert bx is None, "no block"

    assert mistake(kernel) == "error[TW1010]: assertion failed while tracing: no block"


def test_kernels_do_not_return_values():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            return A[bx]

    assert mistake(kernel).startswith("error[TW1006]: kernel bodies do not return values")


def test_what_a_turn_assigns_does_not_reach_the_next():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            acc = 0.0
            for i in T.serial(8):
                acc = acc + A[i]
            A[bx] = acc

    assert "Use a mutable variable: acc = T.alloc_var(dtype, init=...) before the loop" in mistake(
        kernel
    )
    assert position(kernel) == (4, "acc")


def test_what_a_loop_assigns_is_gone_behind_it():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            for i in T.serial(8):
                x = A[i]
            A[bx] = x

    assert "its value is not available after the loop" in mistake(kernel)


def test_chained_assignment_is_for_what_is_known():
    def known(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            a = b = 3
            A[bx] = a + b

    def values(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            a = b = A[bx]
            A[bx] = a + b

    assert "arith.constant 6 : i32" in body(known)
    assert mistake(values) == (
        "error[TW1001]: a = b = c is not supported for values of a kernel: write two assignments"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("len(A)", "len() is not supported for the buffer A: its sizes are A.shape = (8,)"),
        ("isinstance(A[0], int)", "isinstance() of a value of type int32 is not supported"),
        ("float(A[0])", "a run-time value of type int32 is used where Python requires a constant"),
        ("A[0] @ A[1]", "@ is not supported in a kernel: use T.gemm(A, B, C)"),
        ("f'{A[0]}'", "an f-string can show what is known while tracing"),
    ],
)
def test_python_that_needs_values_now_is_refused(text, message, tmp_path):
    source = f"from tilewright import T\n\n\n@T.prim_func\ndef kernel(A: T.Tensor((8,), 'int32')):\n    with T.Kernel(1) as bx:\n        x = {text}\n"
    path = tmp_path / "wrong.py"
    path.write_text(source)
    with pytest.raises(CompileError) as caught:
        exec(compile(source, str(path), "exec"), {"__name__": "wrong"})
    assert message in str(caught.value)
    assert f"{path}:7:" in str(caught.value)


def test_a_class_is_refused():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:

            class Thing:
                pass

            A[bx] = 0

    assert "class is not supported in a kernel" in mistake(kernel)


def test_ops_carry_the_authors_lines():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                A[i] = 1

    from tilewright.ir.text.printer import print_module

    module = T.prim_func(kernel).module
    first = kernel.__code__.co_firstlineno
    text = print_module(module, locations=True)
    assert "tile.parallel" in text
    for line in (first, first + 1, first + 2, first + 3):
        assert f'test_statements.py":{line}:' in text
    assert all("unknown" not in str(op.location) for op in module.walk())
    assert ops(module_text(kernel))[:2] == ["tile.kernel", "tile.parallel"]


def test_a_new_cell_under_an_old_name():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            x = T.alloc_var("int32", init=1)
            x = T.alloc_var("int32", init=2)
            A[bx] = x

    text = body(kernel)
    assert text.count("tile.alloc") == 2
    assert text.count("memref.store") == 3


def test_the_memory_of_a_kernel_ends_with_it():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "int32")
            T.copy(A, s)
        with T.Kernel(1):
            T.copy(s, A)

    assert "s is not defined: it is assigned inside the with of line" in mistake(kernel)


def test_an_alias_of_a_loop_variable_may_be_rebound():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            row = bx
            for i in T.serial(4):
                row = i
                A[row] = 0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "memref.store %c0_i32, %A[%i]" in body(kernel)
