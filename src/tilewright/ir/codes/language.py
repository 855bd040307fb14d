"""Kernel languages and IR as it is written: TW10xx."""

from __future__ import annotations

from tilewright.ir.codes.entry import CodeEntry

ENTRIES = (
    CodeEntry(
        code="TW1001",
        title="Python construct not supported in kernels",
        meaning=(
            "The kernel uses Python syntax that has no equivalent on a GPU: `break` and "
            "`continue` in `tl` loops, `try`, `lambda`, nested functions, element assignment, or "
            "a chained assignment of kernel values."
        ),
        example=(
            "@tw.jit\n"
            "def kernel(x_ptr, n):\n"
            "    for i in range(n):\n"
            "        break                # error[TW1001]"
        ),
        fix=(
            "Use the construct that the message names: a `while` condition, a mask, `tl.where`, "
            "or two assignments."
        ),
    ),
    CodeEntry(
        code="TW1002",
        title="Name has no value",
        meaning=(
            "A variable is read on a path on which it was not assigned, or a global name cannot "
            "be used inside a kernel. Arrays and ordinary Python objects of the surrounding "
            "module are not part of a kernel."
        ),
        example=(
            "if n > 0:\n"
            "    x = 1\n"
            "y = x                        # error[TW1002]: x is assigned in one branch only"
        ),
        fix=(
            "Assign the variable before the branch or the loop, or pass the global as an argument "
            "(as `tl.constexpr` if it is a constant)."
        ),
    ),
    CodeEntry(
        code="TW1003",
        title="Types disagree where control flow joins",
        meaning=(
            "A variable has one type on one path and another type on the other: in the two "
            "branches of an `if`, before and after a loop iteration, or in the two arms of a "
            "conditional expression. Reassigning a `constexpr` is reported the same way."
        ),
        example=(
            "total = 0\n"
            "for i in range(n):\n"
            "    total = total + 0.5      # error[TW1003]: int32 becomes fp32"
        ),
        fix="Give the variable its final type from the start (`total = 0.0`), or use a new name.",
    ),
    CodeEntry(
        code="TW1004",
        title="Wrong call of a kernel function",
        meaning=(
            "The arguments do not match the parameters of a kernel function, a parameter has no "
            "annotation, or a kernel function is called like an ordinary Python function."
        ),
        example=(
            "copy(x, y, n)                # error[TW1004]: copy is a kernel function\n"
            "copy[(4,)](x, y, n)          # a launch"
        ),
        fix=(
            "Pass one value for each parameter, annotate the parameters of `T` kernels, and "
            "launch kernels with `kernel[grid](...)`."
        ),
    ),
    CodeEntry(
        code="TW1005",
        title="Recursion in a kernel",
        meaning=(
            "A kernel function calls itself with the same argument types. Kernels are inlined and "
            "have no call stack."
        ),
        example=(
            "@tw.jit\ndef factorial(n):\n    return n * factorial(n - 1)          # error[TW1005]"
        ),
        fix=(
            "Write a loop, or recurse on a `tl.constexpr` that changes in every call and ends the "
            "recursion."
        ),
    ),
    CodeEntry(
        code="TW1006",
        title="Return statement not allowed or of the wrong type",
        meaning=(
            "A kernel returns a value, two `return` statements of a function have different "
            "types, `return` is inside a loop or under a run-time condition, or an eager `T` "
            "kernel returns something that is not one of its tensors."
        ),
        example=(
            "@tw.jit\n"
            "def kernel(x_ptr):\n"
            "    return tl.load(x_ptr)    # error[TW1006]: a kernel returns nothing"
        ),
        fix=(
            "Store results to memory; return one type from every path, after loops; leave a loop "
            "by the condition of a `while`; return outputs of eager kernels declared with "
            "`T.empty`."
        ),
    ),
    CodeEntry(
        code="TW1007",
        title="Source of a kernel function not available",
        meaning=(
            "A kernel is compiled from its source text. The function is a `lambda` or `async "
            "def`, its file changed after it was imported, or its text is nowhere: typed at "
            "Python's prompt, read from a pipe, or given to `exec` by an expression. Text that a "
            "variable or constant of a calling function holds is found, and so are `python -c`, a "
            "redirected standard input and the cells of notebooks."
        ),
        example="kernel = tw.jit(lambda x_ptr: None)      # error[TW1007]",
        fix=(
            "Define the kernel with `def` in a file or a notebook cell, and restart Python after "
            "editing the file; assign a text to a variable before `exec`."
        ),
    ),
    CodeEntry(
        code="TW1010",
        title="Error raised while a kernel is traced",
        meaning=(
            "A language function or plain Python raised an exception while the kernel was traced: "
            "shapes that do not broadcast, an unsupported type, a failed `tl.static_assert`. The "
            "message is that of the exception, at the line of the kernel."
        ),
        example="x = tl.arange(0, 64) + tl.arange(0, 32)  # error[TW1010]: shapes do not broadcast",
        fix=(
            "Correct the operands as the message states; notes list the variables of the line "
            "with their shapes and types."
        ),
    ),
    CodeEntry(
        code="TW1020",
        title="T function used in the wrong place",
        meaning=(
            "A function of `T` that belongs into a kernel body is used outside of `with "
            "T.Kernel(...)`, a `T.macro` is called from ordinary Python, or a kernel is opened "
            "inside another kernel."
        ),
        example=(
            "@T.prim_func\n"
            'def main(A: T.Tensor((64,), "float32")):\n'
            '    S = T.alloc_shared((64,), "float32")     # error[TW1020]: not inside T.Kernel'
        ),
        fix=(
            "Move the statement into `with T.Kernel(...)`, and open kernels sequentially, not "
            "nested."
        ),
    ),
    CodeEntry(
        code="TW1021",
        title="Dynamic size cannot be derived from the arguments",
        meaning=(
            "A size declared with `T.dynamic` is used, but no tensor parameter has it as a "
            "dimension, so a launch cannot compute it from the shapes."
        ),
        example=(
            'n = T.dynamic("n")\n'
            'def main(A: T.Tensor((2 * n + n * n,), "float32")):\n'
            "    with T.Kernel(n, threads=128) as bx: ...         # error[TW1021]"
        ),
        fix=(
            "Declare a tensor with the size as a dimension of its own, or pass it as a scalar "
            "parameter."
        ),
    ),
    CodeEntry(
        code="TW1022",
        title="Number of indices does not match the rank",
        meaning="A buffer is indexed with more or fewer indices than it has dimensions.",
        example=(
            'A: T.Tensor((32, 64), "float16")\n'
            "x = A[i]                     # error[TW1022]: 2 dimensions, 1 index"
        ),
        fix="Give one index for each dimension, or use `...`.",
    ),
    CodeEntry(
        code="TW1023",
        title="While loop never ends",
        meaning=(
            "The condition of a `while` loop is true at compile time, so the loop would run "
            "forever."
        ),
        example=("while True:                  # error[TW1023]\n    ..."),
        fix="Let the condition read memory that the body changes, for example a `T.alloc_var`.",
    ),
    CodeEntry(
        code="TW1024",
        title="Loop over something that is not iterable in a kernel",
        meaning=(
            "The `for` statement of a `T` kernel iterates over an object that is neither a loop "
            "of the language nor a Python range."
        ),
        example=("for x in S:                  # error[TW1024]: S is a buffer\n    ..."),
        fix="Loop over `T.serial`, `T.Parallel`, `T.Pipelined`, `T.unroll` or `range`.",
    ),
    CodeEntry(
        code="TW1025",
        title="break or continue in a loop without sequential order",
        meaning=(
            "`break` and `continue` need iterations that run sequentially. `T.Parallel` and "
            "`T.Pipelined` have no such order."
        ),
        example=(
            "for i in T.Parallel(64):\n"
            "    if A[i] < 0:\n"
            "        break                # error[TW1025]"
        ),
        fix="Guard the statements with `if`, or use `T.serial`.",
    ),
    CodeEntry(
        code="TW1026",
        title="Invalid argument of a T function",
        meaning=(
            "An argument of a function of `T` has the wrong type or value, or must be known at "
            "compile time and is a run-time value."
        ),
        example="for i in T.serial(0, 64, 0): ...         # error[TW1026]: the step is 0",
        fix=(
            "Pass a value as the message describes; sizes, counts and barrier ids are "
            "compile-time integers."
        ),
    ),
    CodeEntry(
        code="TW1027",
        title="Function for hardware that no target has",
        meaning=(
            "The function belongs to hardware for which `T` kernels are not compiled, such as the "
            "block-scaled `mma.sync` of sm_120."
        ),
        example="T.mma_gemm_blockscaled(A, B, C, SFA, SFB)      # error[TW1027]",
        fix=(
            "Use functions of the hardware that there is: scale operands in `T.Parallel` loops, or "
            "`T.tcgen05_gemm_blockscaled` on sm_100a."
        ),
    ),
    CodeEntry(
        code="TW1028",
        title="Tile extents do not match",
        meaning=(
            "The extents of two operands of a tile operation differ: source and destination of a "
            "copy, M, N or K of a GEMM, or the dimensions left by a reduction. Nothing is "
            "broadcast."
        ),
        example=(
            "T.gemm(A_shared, B_shared, C)            # A is (32, 64), B is (32, 64): K is 64 and "
            "32"
        ),
        fix="Change a tile, slice an operand, or set `transpose_A` / `transpose_B`.",
    ),
    CodeEntry(
        code="TW1029",
        title="Tile operation cannot convert element types",
        meaning=(
            "An asynchronous or bulk copy moves bytes and cannot convert, but source and "
            "destination have different element types."
        ),
        example="T.async_copy(A[0:64], S)                 # A is float32, S is float16",
        fix=(
            "Use `T.copy`, which converts, or allocate the destination with the type of the source."
        ),
    ),
    CodeEntry(
        code="TW1030",
        title="Declaration not valid in this kind of kernel",
        meaning=(
            "`T.const`, `T.empty` or a tensor annotation in the body belongs to eager kernels "
            "(`@tw.jit`) and to the lines before `with T.Kernel`. It is used in a `T.prim_func`, "
            "too late, or for a name that is not a parameter."
        ),
        example=(
            "@T.prim_func\n"
            'def main(A: T.Tensor((64,), "float32")):\n'
            '    M = T.const("M")         # error[TW1030]: not an eager kernel'
        ),
        fix=(
            "Declare parameters at the top of an eager kernel; in a `T.prim_func` use "
            "`T.dynamic`, a plain integer, or `out_idx`."
        ),
    ),
    CodeEntry(
        code="TW1031",
        title="Size of an eager kernel cannot be solved",
        meaning=(
            "A size declared with `T.const` does not follow from the shapes of the arguments, or "
            "an argument that would determine it was not passed to `compile`."
        ),
        example=(
            'M = T.const("M")\n'
            'A: T.Tensor((M * M + M,), "float32")     # error[TW1031]: no dimension is M itself'
        ),
        fix="Declare a tensor with the size as a dimension of its own, or pass the size by name.",
    ),
    CodeEntry(
        code="TW1032",
        title="Argument shape does not match the declaration",
        meaning=(
            "A tensor passed to an eager kernel has another rank than declared, or a dimension "
            "contradicts a size that another argument fixed."
        ),
        example=(
            "add(a_of_64, b_of_65)                    # error[TW1032]: add.B has size 65, N = 64 "
            "is expected"
        ),
        fix="Pass tensors of the declared shape, or declare the dimension with a size of its own.",
    ),
    CodeEntry(
        code="TW1033",
        title="IR violates a rule of an op",
        meaning=(
            "An op is invalid as written in IR text or as the kernel requests it: operand types, "
            "shapes, attributes or structure. The rule follows the name of the op, and many "
            "messages are those of MLIR and Triton."
        ),
        example="'tile.gemm' op A and B must have the same element type, got 'f16' and 'bf16'",
        fix="Change the op, or the statement of the kernel that creates it, as the rule states.",
    ),
    CodeEntry(
        code="TW1034",
        title="Python container modified inside traced control flow",
        meaning=(
            "Lists, dicts and sets are modified once, while the kernel is traced. The statement "
            "is inside a loop or under a run-time condition, so the change would not happen once "
            "per iteration."
        ),
        example=(
            "values = []\nfor i in T.serial(n):\n    values.append(i)         # error[TW1034]"
        ),
        fix=(
            "Use kernel memory (`T.alloc_var`, `T.alloc_local`), or create the container inside "
            "the loop or branch."
        ),
    ),
    CodeEntry(
        code="TW1035",
        title="Explicit unrolling combined with an unroll factor",
        meaning=(
            "A loop in IR has both attributes: `tile.unroll_explicit`, which unrolls it fully, "
            "and `tile.unroll_factor`, which unrolls it partially. (`T.unroll` rejects the "
            "combination earlier, with TW1026.)"
        ),
        example=(
            "scf.for %i = %c0 to %c16 step %c1 { ... } {tile.unroll_explicit, tile.unroll_factor "
            "= 4 : i64}"
        ),
        fix="Keep one of the two attributes.",
    ),
    CodeEntry(
        code="TW1036",
        title="Explicit unrolling of a loop with unknown trip count",
        meaning=(
            "`explicit=True` replaces a loop by its iterations, but a bound or the step is a "
            "run-time value."
        ),
        example=(
            "for i in T.unroll(n, explicit=True): ...     # error[TW1036]: n is a run-time value"
        ),
        fix="Use constant bounds, or drop `explicit=True`.",
    ),
    CodeEntry(
        code="TW1037",
        title="Explicit unrolling exceeds the limit",
        meaning=(
            "The trip count of a loop with `explicit=True` is larger than "
            "`expand-explicit-unroll` accepts (4096 iterations by default)."
        ),
        example="for i in T.unroll(100000, explicit=True): ...    # error[TW1037]",
        fix="Use `unroll_factor`, or `T.serial`.",
    ),
)
