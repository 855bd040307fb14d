"""Allocators in Triton's dialect: our parser resolves every view to the bytes of the layout, and
Triton accepts the same text, allocates one pool and lowers it."""

import re

import numpy as np
import pytest

from tests.dialects.text_support import parse
from tests.memory.registry.support import Owner
from tilewright.buffers import BufferGroup, BufferRegistry

HEAD = (
    'module attributes {{"ttg.num-warps" = {} : i32, "ttg.num-ctas" = 1 : i32, '
    '"ttg.threads-per-warp" = 32 : i32, ttg.target = "cuda:90"}} {{\n'
)


def module(*functions, num_warps=4):
    return HEAD.format(num_warps) + "".join(functions) + "}\n"


def nested(**options):
    registry, step, solver = BufferRegistry(policy="strict", **options), Owner(), Owner()
    registry.register("k1", step, 8, "shared", alignment=16)
    registry.register("odd", step, 3, "shared", precision=np.float64)
    registry.register("error", step, 4, "local", aliases="k1", precision=np.int64)
    registry.register("half", step, 6, "shared", aliases="k1", precision=np.float16)
    registry.register("empty", step, 0, "shared")
    registry.register("stage", step, 3, "local")
    registry.register("kept", step, 3, "local", persistent=True)
    registry.register("residual", solver, 5, "shared", precision=np.float16)
    registry.register("flag", solver, 1, "shared", precision=np.int32)
    registry.register_child(step, solver, "solver")
    return registry, step, solver


def shape_of(type):
    """Shape and bytes of an element, from the text of a descriptor type."""
    dimensions, element = re.match(r"!ttg\.memdesc<((?:\d+x)+)([a-z]\d+),", str(type)).groups()
    return [int(d) for d in dimensions.split("x")[:-1]], int(element[1:]) // 8


def window_of(function):
    """The bytes of its argument that an allocator returns."""
    start = 0
    for op in function.body.block.ops:
        if op.name == "ttg.memdesc_subslice":
            (rows, row), itemsize = shape_of(op.operands[0].type)
            first, zero = op.offsets.get_values()
            assert zero == 0
            assert itemsize == 1
            (count, _), _ = shape_of(op.results[0].type)
            assert first + count <= rows
            start += first * row
        elif op.name == "ttg.memdesc_reinterpret":
            shape, itemsize = shape_of(op.results[0].type)
            return start, start + int(np.prod(shape)) * itemsize, shape, itemsize
    raise AssertionError("no view")


@pytest.mark.parametrize(
    ("name", "shape"),
    [("k1", [8]), ("odd", [3, 1]), ("error", [4]), ("half", [6, 1])],
)
def test_views_are_those_of_the_layout(name, shape):
    registry, step, _ = nested()
    text = registry.get_allocator_ir(name, step, dialect="ttg")
    [function] = parse(module(text)).body.block.ops
    window = registry.layouts(step).shared[name]
    itemsize = registry._groups[step].entries[name].itemsize
    assert window_of(function) == (window.start, window.stop, shape, itemsize)
    assert function.sym_name.data == f"allocate_{name}"


def test_a_region_is_the_pool_of_the_child():
    registry, step, solver = nested()
    [outer] = parse(
        module(registry.get_allocator_ir("solver_shared", step, dialect="ttg"))
    ).body.block.ops
    [inner] = parse(
        module(registry.get_allocator_ir("residual", solver, dialect="ttg"))
    ).body.block.ops
    assert outer.body.block.last_op.operands[0].type == inner.body.block.args[0].type
    window = registry.layouts(step).shared["solver_shared"]
    start, stop, _, _ = window_of(outer)
    assert (start, stop - start) == (window.start, registry.shared_buffer_size(solver))


def test_a_buffer_that_is_the_whole_pool():
    group = BufferGroup(policy="strict")
    group.register("all", 16, "shared", alignment=16)
    text = group.get_allocator_ir("all", dialect="ttg")
    assert "subslice" not in text
    [function] = parse(module(text)).body.block.ops
    assert window_of(function) == (0, 64, [16], 4)
    assert group.pool_ir().type.startswith("!ttg.memdesc<4x16xi8,")


@pytest.mark.parametrize(
    ("size", "alignment", "shape"),
    [(8, None, [8, 1]), (8, 8, [8, 1]), (8, 16, [8]), (2, 8, [2]), (1, None, [1]), (6, 16, [6, 1])],
)
def test_a_tensor_needs_a_known_alignment(size, alignment, shape):
    group = BufferGroup(policy="strict")
    group.register("a", size, "shared", alignment=alignment)
    group.register("b", 1, "shared")
    [function] = parse(module(group.get_allocator_ir("a", dialect="ttg"))).body.block.ops
    assert window_of(function)[2] == shape


def test_rows_are_no_wider_than_the_pool_is_aligned():
    # As a child the pool may start at any multiple of 4, so no store of 16 bytes may clear it.
    registry, parent, child = BufferRegistry(policy="strict"), Owner(), Owner()
    registry.register("x", child, 4, "shared")
    registry.register("head", parent, 1, "shared")
    registry.register_child(parent, child, "kid")
    assert registry._groups[child].pool_ir().row == 4
    text = registry.get_allocator_ir("kid_shared", parent, zero=True, dialect="ttg")
    assert "tensor<4xi8" in text


def test_what_is_no_shared_memory():
    registry, step, _ = nested()
    for name in ("stage", "kept"):
        message = f"Buffer '{name}' belongs to a thread: it is a value of the kernel, not memory."
        with pytest.raises(ValueError, match=re.escape(message)):
            registry.get_allocator_ir(name, step, dialect="ttg")
    with pytest.raises(ValueError, match=r"Buffer 'empty' is empty, and no descriptor is\."):
        registry.get_allocator_ir("empty", step, dialect="ttg")
    with pytest.raises(ValueError, match="There is no shared memory to allocate"):
        BufferGroup(policy="strict").pool_ir()
    compat = BufferGroup()
    compat.register("a", 4, "shared")
    with pytest.raises(ValueError, match="which need policy 'strict'"):
        compat.pool_ir()


@pytest.mark.parametrize(("name", "loops"), [("k1", 0), ("odd", 1), ("solver_shared", 1)])
def test_zeroing_stores_zeros(name, loops):
    registry, step, _ = nested()
    text = registry.get_allocator_ir(name, step, zero=True, dialect="ttg", num_warps=8)
    [function] = parse(module(text, num_warps=8)).body.block.ops
    ops = [op.name for op in function.walk()]
    assert ops.count("scf.for") == loops
    assert ops.count("ttg.local_store") == 1
    assert "warpsPerCTA = [8]" in text


def kernel(registry, step, solver, *, guards=False):
    """All allocators of both components, zeroing, and a kernel that calls them and stores k1."""
    named = [("k1", step), ("odd", step), ("half", step), ("solver_shared", step)]
    named += [("residual", solver), ("flag", solver)]
    texts = [registry.get_allocator_ir(n, o, zero=True, dialect="ttg") for n, o in named]
    signature = re.compile(r"@allocate_(\w+)\(%shared: (.*)\) -> (.*) \{")
    types = {n: (a, r) for n, a, r in (signature.search(t).groups() for t in texts)}

    def call(name, pool):
        argument, result = types[name]
        return f"  %{name} = tt.call @allocate_{name}(%{pool}) : ({argument}) -> {result}\n"

    tensor = re.search(r"tensor<8xf32, .*?>>", texts[0])[0]
    pointers = tensor.replace("f32", "!tt.ptr<f32>", 1)
    body = f"  {registry.get_pool_ir(step)}\n"
    pool = types["k1"][0]
    if guards:
        texts.append(registry.get_canary_ir(step, dialect="ttg"))
        body += f"  tt.call @arm(%pool) : ({pool}) -> ()\n"
    body += "".join(call(n, "pool") for n in ("k1", "odd", "half", "solver_shared"))
    body += "".join(call(n, "solver_shared") for n in ("residual", "flag"))
    body += f"  %v = ttg.local_load %k1 : {types['k1'][1]} -> {tensor}\n"
    body += f"  %p = tt.splat %out : !tt.ptr<f32> -> {pointers}\n"
    body += f"  tt.store %p, %v : {pointers}\n"
    if guards:
        body += f"  tt.call @check(%pool, %report) : ({pool}, !tt.ptr<i32>) -> ()\n"
    arguments = "%out: !tt.ptr<f32>, %report: !tt.ptr<i32>"
    return module(*texts, f"tt.func public @kernel({arguments}) {{\n{body}  tt.return\n}}\n")


@pytest.mark.parametrize("guards", [False, True])
def test_our_parser_takes_the_whole_kernel(guards):
    registry, step, solver = nested(guard_words=2 if guards else 0)
    found = parse(kernel(registry, step, solver, guards=guards))
    found.verify()
    assert [op.name for op in found.walk()].count("ttg.local_alloc") == 1


@pytest.mark.parametrize("guards", [False, True])
def test_triton_allocates_one_pool_and_lowers_it(guards, tmp_path):
    pytest.importorskip("triton", reason="Triton is what has to accept it")
    from triton._C.libtriton import ir, nvidia, passes

    registry, step, solver = nested(guard_words=2 if guards else 0)
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    file = tmp_path / "module.mlir"
    file.write_text(kernel(registry, step, solver, guards=guards))
    parsed = ir.parse_mlir_module(str(file), context)
    parsed.context = context
    manager = ir.pass_manager(context)
    passes.common.add_inliner(manager)
    nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, 90, 80)
    manager.run(parsed, "allocate")
    text = str(parsed)
    offsets = re.findall(r"ttg\.local_alloc \{[^}]*allocation\.offset = (\d+)", text)
    assert len(offsets) == 1
    assert int(offsets[0]) % registry._groups[step].shared_alignment() == 0
    needed = int(re.search(r"ttg\.shared = (\d+)", text)[1])
    assert needed >= int(offsets[0]) + registry.shared_buffer_size(step)
    manager = ir.pass_manager(context)
    passes.convert.add_scf_to_cf(manager)
    nvidia.passes.ttgpuir.add_to_llvmir(manager, 90, 80)
    manager.run(parsed, "lower")
    assert "ttg.memdesc_reinterpret" not in str(parsed)
    assert str(parsed).count("llvm.func") >= 1


def test_addresses_in_the_machine_code(tmp_path, monkeypatch):
    """The kernel clears every buffer but k1, which goes through a wide store: each byte that PTX
    clears is a byte of the layout."""
    triton = pytest.importorskip("triton", reason="Triton makes the code")
    from triton.backends.compiler import GPUTarget

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    registry, step, solver = nested()
    file = tmp_path / "kernel.ttgir"
    file.write_text(kernel(registry, step, solver))
    built = triton.compile(str(file), target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    ptx = built.asm["ptx"]
    stores = re.findall(r"st\.shared\.b(\d+)\s+\[global_smem\+(\d+)\], 0;", ptx)
    cleared = {int(offset) + byte for bits, offset in stores for byte in range(int(bits) // 8)}
    at, below = registry.layouts(step).shared, registry.layouts(solver).shared
    base = at["solver_shared"].start
    expected = {
        *range(at["odd"].start, at["odd"].stop),
        *range(at["half"].start, at["half"].stop),
        *(base + byte for w in below.values() for byte in range(w.start, w.stop)),
    }
    assert cleared == expected
    assert built.metadata.shared == registry.shared_buffer_size(step)


def rows_of(text, function):
    """The bytes that each loop of `function` covers."""
    [found] = [f for f in parse(module(text)).body.block.ops if f.sym_name.data == function]
    (_, row), _ = shape_of(next(iter(found.body.block.ops)).results[0].type)
    for op in found.body.block.ops:
        if op.name != "scf.for":
            continue
        edges = [bound.owner.value.value.data * row for bound in op.operands[:2]]
        yield range(*edges)


def test_guards_are_the_rows_that_belong_to_nobody():
    registry, step, _ = nested(guard_words=1)
    canary, text = registry.canary(step), registry.get_canary_ir(step, dialect="ttg")
    for function in ("arm", "check"):
        covered = [byte for run in rows_of(text, function) for byte in run]
        assert tuple(covered) == canary.shared_words
    # Counter 0 is the first guard byte, and there is no gap between runs.
    shifts = [int(found) for found in re.findall(r"%shift = arith.constant dense<(-?\d+)>", text)]
    counter = 0
    for run, shift in zip(rows_of(text, "check"), shifts, strict=True):
        assert run.start + shift == counter
        counter += len(run)
    assert counter == len(canary.shared_words)
