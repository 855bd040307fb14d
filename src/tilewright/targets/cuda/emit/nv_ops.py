"""Barriers, fences, TMA, tensor cores: what NVIDIA's machine does alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    IntegerType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.nv.barriers import (
    BarrierOp,
    BytesOp,
    CpAsyncMBarrierArriveOp,
    FenceProxyAsyncOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierWaitOp,
    TmaStoreWaitOp,
    WaitOp,
)
from tilewright.dialects.nv.machine import BarOp, SetMaxNRegOp
from tilewright.dialects.nv.matrix import (
    MatrixMoveOp,
    MatrixOp,
    MmaOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
)
from tilewright.dialects.nv.tma import (
    BulkLoadOp,
    BulkOp,
    PrefetchMapOp,
    TmaLoadOp,
    TmaReduceOp,
    TmaStoreBase,
)
from tilewright.dialects.type_utils import element_type_of
from tilewright.targets.cuda.header.mma import mma_function, wgmma_function
from tilewright.targets.cxx.emitter import ATOM, SUM, Emitter, Rule, Text
from tilewright.targets.cxx.memory import address

_PTX_TYPES: Mapping[type[Attribute], str] = {
    Float16Type: "f16",
    BFloat16Type: "bf16",
    Float32Type: "tf32",
    Float8E4M3FNType: "e4m3",
    Float8E5M2Type: "e5m2",
    Float4E2M1FNType: "e2m1",
}


def _plain(function: str) -> Rule:
    """A device function without arguments."""

    def rule(emitter: Emitter, op: Operation) -> None:
        emitter.statement(f"{emitter.call(function, [])};")

    return rule


def _counted(function: str) -> Rule:
    """A device function that takes how many groups may be left, as a template argument."""

    def rule(emitter: Emitter, op: Operation) -> None:
        emitter.uses.functions.setdefault(function)
        assert isinstance(op, WaitOp)
        emitter.statement(f"tw::{function}<{op.pending.value.data}>();")

    return rule


def _barrier(emitter: Emitter, op: BarrierOp | TmaLoadOp | BulkLoadOp) -> str:
    index = op.index if isinstance(op, BarrierOp) else op.barrier_index
    return address(emitter, op.barrier, index)


def _init(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MBarrierInitOp)
    arguments = [_barrier(emitter, op), str(op.count.value.data)]
    emitter.statement(f"{emitter.call('barrier_init', arguments)};")


def _arrive(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MBarrierArriveOp)
    if op.cta is None:
        emitter.statement(f"{emitter.call('barrier_arrive', [_barrier(emitter, op)])};")
        return
    arguments = [_barrier(emitter, op), emitter.operand(op.cta)]
    emitter.statement(f"{emitter.call('barrier_arrive_remote', arguments)};")


def _copies_arrive(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CpAsyncMBarrierArriveOp)
    function = "barrier_arrive_copies" if op.noinc is None else "barrier_arrive_copies_noinc"
    emitter.statement(f"{emitter.call(function, [_barrier(emitter, op)])};")


def _bytes(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        assert isinstance(op, BytesOp)
        count = op.bytes
        shown = str(count) if isinstance(count, int) else emitter.operand(count)
        emitter.statement(f"{emitter.call(function, [_barrier(emitter, op), shown])};")

    return rule


def _wait(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MBarrierWaitOp)
    arguments = [_barrier(emitter, op), emitter.operand(op.parity)]
    emitter.statement(f"{emitter.call('barrier_wait', arguments)};")


def _elect(emitter: Emitter, op: Operation) -> None:
    emitter.constant(op.results[0], Text(emitter.call("elect", [])))


def _set_registers(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SetMaxNRegOp)
    function = "registers_more" if op.direction.data == "inc" else "registers_fewer"
    emitter.uses.functions.setdefault(function)
    emitter.statement(f"tw::{function}<{op.count.value.data}>();")


def _bar(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, BarOp)
    function = "named_barrier_sync" if op.mode.data == "sync" else "named_barrier_arrive"
    arguments = [str(op.id.value.data), str(op.count.value.data)]
    emitter.statement(f"{emitter.call(function, arguments)};")


# -- TMA ---------------------------------------------------------------------------------------


def _coordinates(emitter: Emitter, values: Sequence[SSAValue]) -> list[str]:
    """As the hardware counts them: the innermost first."""
    return [emitter.operand(each) for each in reversed(values)]


def _tma_load(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TmaLoadOp)
    arguments = [
        address(emitter, op.dst, op.dst_index),
        f"&{emitter.operand(op.map)}",
        _barrier(emitter, op),
    ]
    function = "tma_load"
    if op.pair is not None:
        if op.multicast is not None:
            raise emitter.refusal("a TMA load for a pair of CTAs cannot be a multicast")
        function = "tma_load_pair"
    if op.multicast is not None:
        function = "tma_load_multicast"
        arguments.append(emitter.operand(op.multicast))
    if op.policy is not None:
        function += "_hinted"
        arguments.append(emitter.operand(op.policy))
    arguments += _coordinates(emitter, op.coordinates)
    emitter.uses.functions.setdefault("tensor_map")
    emitter.statement(f"{emitter.call(function, arguments)};")


def _prefetch_map(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, PrefetchMapOp)
    emitter.uses.functions.setdefault("tensor_map")
    emitter.statement(f"{emitter.call('prefetch_map', [f'&{emitter.operand(op.map)}'])};")


def _tma_store(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TmaStoreBase)
    arguments = [
        f"&{emitter.operand(op.map)}",
        address(emitter, op.src, op.src_index),
    ]
    function = f"tma_reduce_{op.kind.data}" if isinstance(op, TmaReduceOp) else "tma_store"
    if op.policy is not None:
        function += "_hinted"
        arguments.append(emitter.operand(op.policy))
    arguments += _coordinates(emitter, op.coordinates)
    emitter.uses.functions.setdefault("tensor_map")
    emitter.statement(f"{emitter.call(function, arguments)};")


def _bulk(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, BulkOp)
    size = op.elements.value.data * emitter.element(op.src).bytes
    arguments = [
        address(emitter, op.dst, op.dst_index),
        address(emitter, op.src, op.src_index),
        str(size),
    ]
    function = "bulk_store"
    if isinstance(op, BulkLoadOp):
        function = "bulk_load"
        arguments.append(_barrier(emitter, op))
    if op.policy is not None:
        function += "_hinted"
        arguments.append(emitter.operand(op.policy))
    emitter.statement(f"{emitter.call(function, arguments)};")


# -- tensor cores ------------------------------------------------------------------------------


def _matrix_move(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        assert isinstance(op, MatrixMoveOp)
        count = op.count.value.data
        emitter.element(op.src)
        suffix = "_transposed" if op.transposed is not None else ""
        name = f"{function}_x{count}{suffix}"
        arguments = [address(emitter, op.dst, op.dst_index), address(emitter, op.src, op.src_index)]
        emitter.statement(f"{emitter.call(name, arguments)};")

    return rule


def ptx_type(emitter: Emitter, type: Attribute, unsigned: UnitAttr | None = None) -> str:
    """An operand's element type in the name of an instruction."""
    if isinstance(type, IntegerType) and type.width.data == 8:
        return "s8" if unsigned is None else "u8"
    found = _PTX_TYPES.get(type.__class__)
    if found is None:
        raise emitter.refusal(f"element type '{type}' is not supported by the tensor cores")
    return found


def accumulator(type: Attribute) -> str:
    """The type of a result in the name of an instruction."""
    if isinstance(type, IntegerType):
        return "s32"
    return "f16" if isinstance(type, Float16Type) else "f32"


def _mma(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MmaOp)
    a = ptx_type(emitter, element_type_of(op.a.type), op.unsigned_a)
    b = ptx_type(emitter, element_type_of(op.b.type), op.unsigned_b)
    c = accumulator(element_type_of(op.c.type))
    for each in (op.a, op.b, op.c):
        emitter.element(each)
    name, text = mma_function(op.mnk, a, b, c)
    emitter.uses.generated[name] = text
    arguments = [
        address(emitter, op.c, op.c_index),
        address(emitter, op.a, op.a_index),
        address(emitter, op.b, op.b_index),
    ]
    emitter.statement(f"tw::{name}({', '.join(arguments)});")


def _matrix(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MatrixOp)
    emitter.uses.functions.setdefault("matrix_descriptor")
    values = (op.swizzle, op.leading, op.stride)
    swizzle, leading, stride = (each.value.data for each in values)
    where = address(emitter, op.buffer, op.index)
    text = Text(f"tw::matrix_descriptor<{swizzle}, {leading}, {stride}>({where})", ATOM)
    if op.advance_bytes:  # addresses have 14 bits in units of 16 bytes, enough for all of them
        text = Text(f"{text.text} + {op.advance_bytes // 16}", SUM)
    emitter.pure(op.results[0], text)


def _chain(op: WgmmaOp) -> list[WgmmaOp]:
    """The MMAs that `op` is issued together with, and `op`."""
    found: list[WgmmaOp] = [op]
    before = op.prev_op
    while before is not None and (before.results or isinstance(before, WgmmaOp)):
        if isinstance(before, WgmmaOp):
            if nv_names.CHAINED not in before.attributes:
                break
            found.append(before)
        before = before.prev_op
    return found[::-1]


def _wgmma(emitter: Emitter, op: Operation) -> None:
    """MMAs that are issued together are printed where the last of them is."""
    assert isinstance(op, WgmmaOp)
    if nv_names.CHAINED in op.attributes:
        return
    chain = _chain(op)
    a = ptx_type(emitter, op.a_type, op.unsigned_a)
    b = ptx_type(emitter, op.b_type, op.unsigned_b)
    c = accumulator(element_type_of(op.acc.type))
    emitter.element(op.acc)
    name, text = wgmma_function(
        op.mnk,
        (a, b, c),
        a_in_registers=op.a_index is not None,
        transposed=(op.transposed_a is not None, op.transposed_b is not None),
        count=len(chain),
    )
    emitter.uses.generated[name] = text
    scale = chain[0].scale_d
    arguments = [address(emitter, op.acc, op.acc_index)]
    for each in chain:
        index = each.a_index
        a_text = emitter.operand(each.a) if index is None else address(emitter, each.a, index)
        arguments += [a_text, emitter.operand(each.b)]
    arguments.append("true" if scale is None else emitter.operand(scale))
    emitter.statement(f"tw::{name}({', '.join(arguments)});")


def _fence_operand(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, WgmmaFenceOperandOp)
    emitter.element(op.acc)
    function = "settle" if op.late is None else "settle_late"
    emitter.statement(f"{emitter.call(function, [emitter.operand(op.acc)])};")


def _fence_async(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, FenceProxyAsyncOp)
    function = "fence_async" if op.tensors is None else "fence_async_all"
    emitter.statement(f"{emitter.call(function, [])};")


def _bulk_wait(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TmaStoreWaitOp)
    function = "bulk_wait" if op.read is None else "bulk_wait_read"
    emitter.uses.functions.setdefault(function)
    emitter.statement(f"tw::{function}<{op.pending.value.data}>();")


def _cluster_rank(emitter: Emitter, op: Operation) -> None:
    emitter.pure(op.results[0], Text(emitter.call("cluster_rank", [])))


def _opaque(emitter: Emitter, op: Operation) -> None:
    emitter.constant(op.results[0], Text(emitter.call("opaque", [emitter.operand(op.operands[0])])))


RULES: Mapping[str, Rule] = {
    "nv.mbarrier.init": _init,
    "nv.mbarrier.arrive": _arrive,
    "nv.cp_async.mbarrier_arrive": _copies_arrive,
    "nv.mbarrier.expect_tx": _bytes("barrier_expect"),
    "nv.mbarrier.arrive_expect_tx": _bytes("barrier_arrive_expect"),
    "nv.mbarrier.wait": _wait,
    "nv.elect": _elect,
    "nv.setmaxnreg": _set_registers,
    "nv.bar": _bar,
    "nv.cp_async.commit": _plain("cp_async_commit"),
    "nv.cp_async.wait": _counted("cp_async_wait"),
    "nv.tma_store.commit": _plain("bulk_commit"),
    "nv.tma_store.wait": _bulk_wait,
    "nv.fence_proxy_async": _fence_async,
    "nv.fence_barrier_init": _plain("fence_barrier_init"),
    "nv.cluster.rank": _cluster_rank,
    "nv.cluster.arrive": _plain("cluster_arrive"),
    "nv.cluster.wait": _plain("cluster_wait"),
    "nv.grid.trigger": _plain("grid_trigger"),
    "nv.grid.wait": _plain("grid_wait"),
    "nv.prefetch_map": _prefetch_map,
    "nv.tma_load": _tma_load,
    "nv.tma_store": _tma_store,
    "nv.tma_reduce": _tma_store,
    "nv.bulk_load": _bulk,
    "nv.bulk_store": _bulk,
    "nv.ldmatrix": _matrix_move("ldmatrix"),
    "nv.stmatrix": _matrix_move("stmatrix"),
    "nv.mma": _mma,
    "nv.opaque": _opaque,
    "nv.matrix": _matrix,
    "nv.wgmma": _wgmma,
    "nv.wgmma.fence": _plain("wgmma_fence"),
    "nv.wgmma.fence_operand": _fence_operand,
    "nv.wgmma.commit": _plain("wgmma_commit"),
    "nv.wgmma.wait": _counted("wgmma_wait"),
}
