"""Allocators and guards in IR, run: xDSL's interpreter over NumPy arrays as memory."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, memref, scf
from xdsl.dialects.linalg.ops import FillOp
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.parser import Parser

from tests.memory.registry.support import Owner
from tilewright.buffers import BufferRegistry

DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4", "i64": "i8"}


def array_type(type):
    return tuple(type.get_shape()), np.dtype(DTYPES[str(type.element_type)])


@register_impls
class Memory(InterpreterFunctions):
    """A memref is a NumPy array; views share its memory."""

    @impl(memref.ViewOp)
    def view(self, interpreter, op, args):
        pool, offset = args
        (size,), dtype = array_type(op.result.type)
        nbytes = size * dtype.itemsize
        assert pool.dtype == np.int8
        assert 0 <= offset <= offset + nbytes <= pool.size
        return (pool[offset : offset + nbytes].view(dtype),)

    @impl(memref.CastOp)
    def cast(self, interpreter, op, args):
        return args

    @impl(memref.AllocaOp)
    def alloca(self, interpreter, op, args):
        shape, dtype = array_type(op.memref.type)
        return (np.full(shape, 7, dtype),)

    @impl(memref.LoadOp)
    def load(self, interpreter, op, args):
        return (int(args[0][args[1]]),)

    @impl(memref.StoreOp)
    def store(self, interpreter, op, args):
        args[1][args[2]] = args[0]
        return ()

    @impl(memref.AtomicRMWOp)
    def atomic_rmw(self, interpreter, op, args):
        assert op.kind.value.data == 1
        value, array, index = args
        old = int(array[index])
        array[index] += value
        return (old,)

    @impl(FillOp)
    def fill(self, interpreter, op, args):
        args[1][...] = args[0]
        return ()

    @impl(arith.RemUIOp)
    def remui(self, interpreter, op, args):
        return (args[0] % args[1],)

    @impl(arith.TruncIOp)
    def trunci(self, interpreter, op, args):
        return (int(np.array(args[0]).astype(np.int8)),)


def functions(*texts):
    """The functions of these texts, callable by name."""
    context = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, memref.MemRef, linalg.Linalg, scf.Scf):
        context.load_dialect(dialect)
    module = Parser(context, "".join(texts)).parse_module()
    module.verify()
    interpreter = Interpreter(module)
    for known in (FuncFunctions, ScfFunctions, ArithFunctions, Memory):
        interpreter.register_implementations(known())

    def call(name, *arguments):
        results = interpreter.call_op(name, arguments)
        return results[0] if results else None

    return call


def nested(**options):
    """step > solver, of three element types, in both pools."""
    registry, step, solver = BufferRegistry(policy="strict", **options), Owner(), Owner()
    registry.register("k1", step, 5, "shared")
    registry.register("error", step, 2, "local", aliases="k1", precision=np.float64)
    registry.register("stage", step, 3, "local")
    registry.register("residual", solver, 3, "shared", precision=np.float64)
    registry.register("count", solver, 1, "shared", precision=np.int32)
    registry.register("none", solver, 0, "shared")
    registry.register("history", solver, 2, "local", persistent=True, precision=np.float16)
    registry.register("cache", step, 1, "local", persistent=True, precision=np.int64)
    registry.register_child(step, solver, "solver")
    return registry, step, solver


def pools(registry, step):
    sizes = registry.shared_buffer_size(step), registry.persistent_local_buffer_size(step)
    return [np.full(size, 77, np.int8) for size in sizes]


def owned(view, pool):
    """First and last byte of a view, in bytes of the pool."""
    start = view.__array_interface__["data"][0] - pool.__array_interface__["data"][0]
    return slice(start, start + view.nbytes)


def test_nested_allocators_give_the_views_of_the_layout():
    registry, step, solver = nested()
    outer = functions(*(registry.get_allocator_ir(n, step) for n in registry._groups[step].entries))
    inner = functions(
        *(registry.get_allocator_ir(n, solver) for n in registry._groups[solver].entries)
    )
    shared, persistent = pools(registry, step)
    at, below = registry.layouts(step), registry.layouts(solver)
    assert owned(outer("allocate_k1", shared, persistent), shared) == at.shared["k1"]
    assert owned(outer("allocate_error", shared, persistent), shared) == at.shared["error"]
    assert owned(outer("allocate_cache", shared, persistent), persistent) == at.persistent["cache"]
    assert outer("allocate_stage", shared, persistent).shape == (3,)
    regions = [
        outer(f"allocate_solver_{pool}", shared, persistent) for pool in ("shared", "persistent")
    ]
    base = at.shared["solver_shared"].start
    for name in ("residual", "count"):
        window = owned(inner(f"allocate_{name}", *regions), shared)
        assert (window.start - base, window.stop - base) == (
            below.shared[name].start,
            below.shared[name].stop,
        )
    history = inner("allocate_history", *regions)
    assert history.dtype == np.float16
    assert owned(history, persistent).start == at.persistent["solver_persistent"].start
    assert inner("allocate_none", *regions).size == 0


@pytest.mark.parametrize("name", ["k1", "error", "stage", "cache", "solver_shared"])
def test_zeroing_clears_the_buffer_and_nothing_else(name):
    registry, step, _ = nested()
    call = functions(registry.get_allocator_ir(name, step, zero=True))
    shared, persistent = pools(registry, step)
    view = call(f"allocate_{name}", shared, persistent)
    assert view.size > 0
    assert (view == 0).all()
    cleared = view.nbytes if name != "stage" else 0
    assert (shared == 0).sum() + (persistent == 0).sum() == cleared


def guarded():
    registry, step, _ = nested(guard_words=2)
    call = functions(registry.get_canary_ir(step))
    canary = registry.canary(step)
    shared, persistent = pools(registry, step)
    report = canary.new_report()
    call("arm", shared, persistent)
    return call, canary, shared, persistent, report


def test_arming_writes_the_guards_only():
    _, canary, shared, persistent, _ = guarded()
    for pool, words in ((shared, canary.shared_words), (persistent, canary.persistent_words)):
        rest = np.delete(pool, words)
        assert (rest == 77).all()
        assert rest.size + len(words) == pool.size
    # The same bytes as NumPy writes.
    expected = [np.full(pool.size, 77, np.int8) for pool in (shared, persistent)]
    canary.arm(*expected)
    assert shared.tobytes() + persistent.tobytes() == b"".join(e.tobytes() for e in expected)


def test_whole_guards_count_nothing():
    call, canary, shared, persistent, report = guarded()
    for span in canary.spans:
        (shared if span.pool == "shared" else persistent)[span.start : span.stop] = 0
    call("check", shared, persistent, report)
    assert not report.any()
    assert canary.damage(report) == canary.inspect(shared, persistent) == ()


@pytest.mark.parametrize(
    "owner", ["k1", "solver.residual", "solver.count", "solver.history", "cache"]
)
@pytest.mark.parametrize("side", ["past its end", "before its start"])
def test_who_wrote(owner, side):
    call, canary, shared, persistent, report = guarded()
    [span] = [span for span in canary.spans if span.owner == owner]
    pool = shared if span.pool == "shared" else persistent
    for byte in range(3):
        pool[span.stop + byte if side == "past its end" else span.start - 1 - byte] ^= 0x55
    call("check", shared, persistent, report)
    call("check", shared, persistent, report)
    [damage] = canary.damage(report)
    assert damage.culprits == (owner,)
    assert damage.text.endswith(f"'{owner}' wrote 3 bytes {side}")
    assert report.sum() == 6
    assert canary.inspect(shared, persistent) == (damage,)


def test_only_strict_has_guards_in_ir():
    registry, owner = BufferRegistry(guard_words=1), Owner()
    registry.register("a", owner, 1, "shared")
    with pytest.raises(ValueError, match="which need policy 'strict'"):
        registry.get_canary_ir(owner)
    strict, step, _ = nested()
    with pytest.raises(ValueError, match="Canary mode is off"):
        strict.get_canary_ir(step)
