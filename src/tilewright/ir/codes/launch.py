"""Targets, launches and host code: TW60xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW6001",
        title="Op not supported by the NumPy target",
        meaning=(
            "A kernel is run on the host, and an op has no implementation there, for example "
            "inline assembly."
        ),
        example='tl.inline_asm_elementwise("lop3.b32 ...", ...)       # error[TW6001] on the host',
        fix="Run the kernel on a GPU, or replace the op for host runs.",
    ),
    CodeEntry(
        code="TW6002",
        title="Module without exactly one function to run",
        meaning=(
            "A module run on the host must have one entry: a public function, or one marked "
            "`tile.entry`, or the function given by name."
        ),
        example="expected exactly one function named 'scale' in the module, found 0",
        fix="Name a function of the module, or make all functions but one private.",
    ),
    CodeEntry(
        code="TW6003",
        title="Kernel has a parameter that a launch cannot pass",
        meaning=(
            "A function takes a buffer in shared or tensor memory, or a tensor, as a parameter, "
            "so it can be called from a kernel but not launched."
        ),
        example="'helper' cannot be launched: its argument 'tile' is a buffer in shared memory",
        fix=(
            "Take pointers and tensor descriptors as parameters, and allocate buffers inside the "
            "kernel."
        ),
    ),
    CodeEntry(
        code="TW6004",
        severity="warning",
        title="Grid with 0 blocks",
        meaning="An extent of the launch grid is 0: no block runs, and outputs are not written.",
        example="with T.Kernel(100 // 128, threads=128) as bx: ...        # warning[TW6004]",
        fix="Round up: `T.ceildiv(size, block)`.",
    ),
    CodeEntry(
        code="TW6005",
        title="Launch grid too large",
        meaning=(
            "An extent of the launch grid exceeds what GPUs accept: 2147483647 blocks along x, "
            "65535 along y and z."
        ),
        example="with T.Kernel(8, 100000, threads=128) as (bx, by): ...   # error[TW6005]",
        fix="Move the large extent to x, use larger tiles, or use `T.Persistent`.",
    ),
    CodeEntry(
        code="TW6006",
        title="Element type not supported on GPUs",
        meaning=(
            "A buffer has elements that no NVIDIA GPU stores: 8-bit floats of another vendor "
            "(`fnuz`)."
        ),
        example='A: T.Tensor((64, 64), "float8_e4m3fnuz")            # error[TW6006]',
        fix="Use `float8_e4m3fn` or `float8_e5m2`.",
    ),
    CodeEntry(
        code="TW6007",
        title="Unknown target, or module bound to another one",
        meaning="The target is not known, or the module was bound to a different target before.",
        example='tilewright opt --bind-target="target=cuda:sm_91" kernel.mlir     # error[TW6007]',
        fix="Use a target that the message lists, for example `cuda:sm_90a`.",
    ),
    CodeEntry(
        code="TW6008",
        title="Clusters not supported by the target",
        meaning="The kernel launches clusters of blocks, which require sm_90 or later.",
        example=(
            "with T.ClusterKernel(8, cluster_dims=(2, 1, 1), threads=128): ...    # sm_80: "
            "error[TW6008]"
        ),
        fix="Use `T.Kernel`, or compile for sm_90 or later.",
    ),
    CodeEntry(
        code="TW6009",
        title="Cluster too large",
        meaning="A cluster has more blocks than GPUs accept without an opt-in (8).",
        example=(
            "with T.ClusterKernel(64, cluster_dims=(32, 1, 1), threads=128): ...  # error[TW6009]"
        ),
        fix="Use at most 8 blocks per cluster.",
    ),
    CodeEntry(
        code="TW6010",
        title="Device assertion failed",
        meaning="A `tl.device_assert` does not hold in the program and lane given.",
        example='tl.device_assert(index < n, "index out of range")    # launched with debug=True',
        fix="Correct the kernel or the arguments so that the condition holds.",
    ),
    CodeEntry(
        code="TW6011",
        title="Undefined value used",
        meaning=(
            "A value that depends on lanes without a definition is stored or decides control "
            "flow: a masked load without `other`, or memory that has not been written."
        ),
        example=(
            "x = tl.load(x_ptr + offsets, mask=offsets < n)\n"
            "tl.store(y_ptr + offsets, x)  # error[TW6011]: lanes at and above n are undefined"
        ),
        fix="Pass `other=` to the load, or use the same mask for the store.",
    ),
    CodeEntry(
        code="TW6012",
        title="Program waits forever",
        meaning=(
            "A program spins on memory that no other program changes. Host runs execute programs "
            "sequentially, so a program can wait only for earlier ones."
        ),
        example=(
            "while tl.atomic_cas(lock_ptr, 0, 1) == 1:    # never released: error[TW6012]\n    pass"
        ),
        fix=(
            "Release the lock on every path, and let programs wait only for programs with a "
            "smaller id."
        ),
    ),
    CodeEntry(
        code="TW6013",
        title="Loop step is not positive",
        meaning=(
            "The step of a loop is 0 or negative at run time. On a GPU such a loop does not end, "
            "or does not execute."
        ),
        example="for i in range(n, 0, step): ...          # step = -1 at run time: error[TW6013]",
        fix="Count up and compute the index from the end, or make the step a `tl.constexpr`.",
    ),
    CodeEntry(
        code="TW6014",
        title="Invalid L2 hit ratio",
        meaning=(
            "The ratio given to `T.annotate_l2_hit_ratio` is not above 0 and at most 1, or the "
            "buffer is not in global memory."
        ),
        example="T.annotate_l2_hit_ratio({B: 1.5})        # error[TW6014]",
        fix="Use a ratio in (0, 1] and a tensor parameter.",
    ),
    CodeEntry(
        code="TW6015",
        severity="remark",
        title="L2 hit ratio not applied",
        meaning=(
            "The L2 policy is not applied to some accesses, for the reason given: the target has "
            "no policies, or the access is atomic or in external code."
        ),
        example=(
            "T.annotate_l2_hit_ratio({B: 0.8})        # B is updated atomically: remark[TW6015]"
        ),
        fix="Nothing is required: the policy affects speed only.",
    ),
    CodeEntry(
        code="TW6016",
        title="Warp operation does not fit the warp",
        meaning=(
            "A shuffle has more lanes than a warp of the target, or a ballot fewer bits than that "
            "has lanes. NVIDIA's warps have 32 lanes; AMD's waves have 64 on gfx90a, gfx942 and "
            "gfx950, and 32 on gfx1100 and gfx1201."
        ),
        example="y = T.shfl_xor(x, 33, width=64)          # target gfx1100: error[TW6016]",
        fix=(
            "Leave the width out: a warp of `T` is 32 threads on every GPU. In IR, a ballot of 64 "
            "lanes is an i64."
        ),
    ),
    CodeEntry(
        code="TW6017",
        title="Elements of 4 bits that are not whole bytes",
        meaning=(
            "Two elements of 4 bits share a byte of a tensor. Two threads would each store one of "
            "them, a copy does not begin or end with a whole byte, or an operation has no form for "
            "such elements."
        ),
        example="B[i, (j + 1) % 16] = A[i, j]            # int4, in T.Parallel: error[TW6017]",
        fix=(
            "Store at an index that is a variable of the loop, or that plus an even integer; copy "
            "an even count of columns from an even column on; convert before computing."
        ),
    ),
    CodeEntry(
        code="TW6020",
        title="Invalid launch",
        meaning=(
            "The arguments, options or grid of a launch do not match the kernel: a missing or "
            "unknown argument, a grid with more than three axes, or an object that is neither an "
            "array nor a scalar."
        ),
        example="copy[(4,)](x, y)                         # error[TW6020]: no value for n",
        fix="Pass a value for each parameter, and a grid of 1 to 3 positive integers.",
    ),
    CodeEntry(
        code="TW6030",
        title="Argument does not match the declared tensor",
        meaning=(
            "An argument of a `T` kernel has another type, shape, stride or device than its "
            "parameter declares."
        ),
        example=(
            "double(x[::2])                           # error[TW6030]: A is declared contiguous"
        ),
        fix=(
            "Pass a matching array, or declare the parameter with `T.StridedTensor` or another "
            "dtype."
        ),
    ),
    CodeEntry(
        code="TW6040",
        title="Op has no equivalent in stock Triton",
        meaning=(
            "An op cannot be expressed for a release of Triton without TLX, or needs a newer "
            "release, for the reason given."
        ),
        example="'ttng.async_tma_copy_global_to_local' has no equivalent in stock Triton",
        fix="Rewrite the kernel without the op, or use a Triton build with TLX.",
    ),
    CodeEntry(
        code="TW6041",
        title="Block pointers not supported",
        meaning=(
            "The kernel uses `tl.make_block_ptr`, which has no layout here and is removed from "
            "newer releases of Triton."
        ),
        example="p = tl.make_block_ptr(...)               # error[TW6041] when compiled for a GPU",
        fix="Use a tensor descriptor: `tl.make_tensor_descriptor`.",
    ),
    CodeEntry(
        code="TW6042",
        title="2-CTA MMA not possible",
        meaning=(
            "A 2-CTA MMA (`cta_group::2`) needs 16-bit operands in shared memory with a 128-byte "
            "swizzle and 128 rows each, an f32 accumulator, and a completion by barrier instead "
            "of a token."
        ),
        example="tlx.async_dot(a, b, acc, two_ctas=True)  # 8-bit operands: error[TW6042]",
        fix="Use operands as required, or an MMA of one CTA.",
    ),
    CodeEntry(
        code="TW6043",
        severity="remark",
        title="Prefetch dropped",
        meaning="Stock Triton has no equivalent of a prefetch, which is a hint, so it is removed.",
        example="prefetch not applied: stock Triton has no 'ttng.prefetch_tensormap'",
        fix="Nothing is required.",
    ),
    CodeEntry(
        code="TW6044",
        severity="remark",
        title="Register control dropped",
        meaning=(
            "An op of TLX chooses the registers of a tensor or the order of matrix instructions on "
            "an AMD GPU. Stock Triton has no equivalent; the value is the same without it."
        ),
        example="amdg.register_resident not applied: stock Triton chooses the register class",
        fix="Nothing is required; a Triton build with TLX applies it.",
    ),
)
