"""Traced functions: parameters, sizes, kernels, macros, hints."""

import pytest

from tests.language.T.kernels import body, mistake, module_text, ops, position
from tilewright import T
from tilewright.language.T.prim_func import PrimFunc


def test_parameters():
    m, k = T.dynamic("m, k")

    def kernel(
        A: T.Tensor((m, k), "float16"),
        B: T.StridedTensor((8, m), (64, 1), T.bfloat16),
        n: T.int32,
        p: T.ptr("float32"),
        C: T.Tensor[(k + 1, 4), T.uint8],
    ):
        with T.Kernel(1):
            T.clear(A)

    found = T.prim_func(kernel)
    assert isinstance(found, PrimFunc)
    assert [(param.name, param.kind, str(param.dtype)) for param in found.params] == [
        ("A", "tensor", "float16"),
        ("B", "tensor", "bfloat16"),
        ("n", "scalar", "int32"),
        ("p", "pointer", "float32"),
        ("C", "tensor", "uint8"),
    ]
    assert found.symbols == ("m", "k")
    assert [str(size) for size in found.params[4].shape] == ["k + 1", "4"]
    assert found.params[1].strides == (64, 1)
    text = found.script()
    for piece in (
        '%A: memref<?x?xf16, #global> {tile.dtype = "float16", tile.name = "A", tile.shape = ["m", "k"]}',
        "%B: memref<8x?xbf16, strided<[64, 1]>, #global>",
        '%n: i32 {tile.dtype = "int32", tile.name = "n"}',
        "%p: !tile.ptr<f32>",
        'tile.shape = ["k + 1", 4]',
        "attributes {tile.entry}",
    ):
        assert piece in text


def test_a_parameter_needs_an_annotation():
    def kernel(A):
        with T.Kernel(1):
            pass

    assert mistake(kernel).startswith("error[TW1004]: parameter A needs an annotation")


def test_sizes_are_read_once_at_the_top():
    m, k = T.dynamic("m k")

    def kernel(A: T.Tensor((m, k), "float32"), B: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, 8), k) as (bx, by):
            if bx * 8 < m:
                A[bx, by] = m + k

    text = module_text(kernel)
    assert text.count("memref.dim") == 2
    assert text.index("memref.dim") < text.index("tile.kernel")
    assert "arith.ceildivsi" in text


def test_a_size_that_no_parameter_has():
    m, k = T.dynamic("m, k")

    def kernel(A: T.Tensor((m * k,), "float32")):
        with T.Kernel(m):
            A[0] = 0

    assert mistake(kernel) == (
        "error[TW1021]: size m cannot be determined from the arguments: no parameter has a "
        "dimension or stride that is exactly m. Declare one with this size, or pass m as a parameter"
    )


def test_several_kernels_follow_each_other():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            A[bx] = 0
        with T.Kernel(8, threads=-1) as bx:
            A[bx] = 1

    text = module_text(kernel)
    assert text.count("tile.kernel") == 2
    assert "in (4) threads(128) {" in text
    assert "in (8) {" in text


def test_kernels_with_everything():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.ClusterKernel(8, 4, threads=(32, 4), cluster_dims=(2, 1, 1)) as (bx, by):
            T.use_swizzle(10, order="column")
            T.no_set_max_nreg()
            T.annotate_min_blocks_per_sm(2)
            T.annotate_producer_reg_dealloc(24)
            T.annotate_consumer_reg_alloc(240)
            A[bx + by] = (
                T.get_thread_binding(1) + T.get_block_binding(1) + T.block_rank_in_cluster()
            )

    text = module_text(kernel)
    assert (
        "tile.kernel (%bx, %by) in (8, 4) threads(32, 4) cluster(2, 1, 1) "
        "raster #tile.raster<column, 10>" in text
    )
    for piece in (
        "keep_registers",
        "min_blocks_per_sm = 2",
        "producer_registers = 24",
        "consumer_registers = 240",
        "gpu.thread_id y",
        "nv.cluster.rank",
    ):
        assert piece in text


def test_use_swizzle_can_be_switched_off():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            T.use_swizzle(panel_size=10, enable=False)
            A[bx] = 0

    assert "raster" not in module_text(kernel)


@pytest.mark.parametrize(
    ("blocks", "threads", "message"),
    [
        ((1, 2, 3, 4), 128, "T.Kernel takes 1 to 3 grid extents, got 4"),
        ((1.5,), 128, "T.Kernel: a grid extent must be an integer, got 1.5"),
        ((1,), (1, 2, 3, 4), "T.Kernel: threads must be one to three integers"),
        ((1,), 1.5, "T.Kernel: threads must be one to three integers, got 1.5"),
        ((1,), 0, "T.Kernel: thread counts must be positive, got 0"),
    ],
)
def test_a_wrong_launch(blocks, threads, message):
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(*blocks, threads=threads):
            A[0] = 0

    assert message in mistake(kernel)
    assert position(kernel)[0] == 1


def test_what_the_verifier_finds_is_shown_in_the_source():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=2048):
            A[0] = 0

    assert "a block has at most 1024 threads, got 2048" in mistake(kernel)


def test_warp_groups():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=384):
            with T.ws(0, 2):
                A[0] = 0
            with T.ws(1):
                A[1] = 0

    text = body(kernel)
    assert text.count("tile.ws") == 2
    assert "threads(0 to 128, 256 to 384)" in text
    assert "custom" in text


def test_a_warp_group_that_the_block_does_not_have():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128), T.ws(1):
            A[1] = 0

    assert (
        "warp group 1 has threads 128 to 255, but the block has 128: launch it with threads=256"
        in mistake(kernel)
    )


def test_macros_are_inlined_with_names_of_their_own():
    @T.macro
    def scale(buffer: T.SharedBuffer((8,), "float32"), by):
        i = 3
        buffer[i] *= by
        return buffer[i] + i

    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            i = 5
            first = scale(A, 2)
            second = scale(A, by=bx)
            A[i] = first + second

    text = body(kernel)
    assert "func.call" not in text
    assert text.count("arith.mulf") == 2
    assert "arith.constant 5 : index" in text


def test_a_macro_inside_a_kernel():
    def kernel(A: T.Tensor((8,), "float32")):
        factor = 3

        @T.macro
        def add(index, value):
            for i in range(4):
                A[index * 4 + i] += value * factor

        with T.Kernel(2) as bx:
            add(bx, 1)

    text = body(kernel)
    assert "scf.for" in text
    assert "arith.constant 3.000000e+00 : f32" in text


def test_an_error_in_a_macro_shows_both_places():
    @T.macro
    def clear(buffer):
        buffer[0, 0] = 0

    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(2):
            clear(A)

    with pytest.raises(Exception) as caught:
        T.prim_func(kernel)
    shown = str(caught.value)
    assert "Buffer A is 1-dimensional" in shown
    assert "called from here, in kernel" in shown


def test_helpers_of_python_run_while_tracing():
    def twice(value):
        return value * 2

    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            A[bx] = twice(A[bx]) + twice(3)

    assert [op for op in ops(body(kernel)) if op == "arith.mulf"] == ["arith.mulf"]


def test_a_macro_outside_of_a_kernel():
    @T.macro
    def nothing():
        pass

    with pytest.raises(Exception, match="nothing is a macro: call it inside a kernel"):
        nothing()


def test_a_traced_function_is_no_kernel():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            A[0] = 0

    with pytest.raises(TypeError, match="kernel is a traced function: compile it"):
        kernel(1)


def test_a_macro_changes_only_what_it_gets_by_reference():
    @T.macro
    def bump(x: T.Ref, y):
        x = x + y
        y = y + 1  # the macro's own
        return y

    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            a = T.alloc_var("int32", init=0)
            b = T.alloc_var("int32", init=0)
            A[0] = bump(a, b)
            A[1] = bump(A[bx], 2)

    text = body(kernel)
    stores = [line for line in text.splitlines() if "memref.store" in line]
    assert [line.split(", ")[1].split("[")[0] for line in stores] == [
        "%a",
        "%b",
        "%a",
        "%A",
        "%A",
        "%A",
    ]


def test_parameters_declared_in_the_body():
    def kernel(A, n: T.int32):
        A: T.Tensor((8, 4), "float32")
        B = T.empty((8,), "float16")
        with T.Kernel(8) as (bx,):
            B[bx] = A[bx, 0] + n
        return B

    found = T.prim_func(kernel)
    assert [(param.name, param.is_output) for param in found.params] == [
        ("A", False),
        ("n", False),
        ("B", True),
    ]
    assert found.returned == (2,)


def test_a_size_inside_of_a_product_is_solved():
    n = T.dynamic("n")

    def kernel(A: T.Tensor((4 * (n + 1),), "int32")):
        with T.Kernel(n) as bx:
            A[bx] = n

    text = module_text(kernel)
    assert [op for op in ops(text)[:6] if op != "arith.constant"] == [
        *("memref.dim", "arith.floordivsi", "arith.subi"),
    ]


def test_settings_of_a_function():
    def kernel(A: T.Tensor((8,), "int32")):
        T.annotate_pass_configs({"tl.enable_fast_math": True})
        T.annotate_compile_flags(["-O3"])
        with T.Kernel(1):
            A[0] = 0

    assert T.prim_func(kernel).attrs == {
        "tilelang_pass_configs": {"tl.enable_fast_math": True},
        "tilelang_compile_flags": ["-O3"],
    }
