"""Arguments, circular buffers, NoC transfers, multicast and semaphores as calls of the API."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Operation

from tilewright.dialects.tensix.arguments import ArgAtOp, ArgumentOp
from tilewright.dialects.tensix.base import cb_type
from tilewright.dialects.tensix.buffers import CBOp, CBPointerOp, FillPageOp
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.noc import AccessorOp, McastOp, NocBarrierOp, SemMcastOp, SemOp
from tilewright.ir.interfaces import constant_integer
from tilewright.targets.cxx.emitter import ATOM, LESS, SUM, Emitter, Rule, Text
from tilewright.targets.tenstorrent.emit.emitter import Api, TensixEmitter

_POINTER = "reinterpret_cast<volatile tt_l1_ptr uint32_t*>"


def _argument(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        assert isinstance(emitter, TensixEmitter) and isinstance(op, ArgumentOp)
        hint = f"arg{op.index}" if op.label is None else op.label.data
        emitter.named(op.result, hint, f"{function}({op.index})")

    return rule


def _arg_at(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, ArgAtOp)
    index = emitter.operand(op.index, SUM)
    emitter.named(op.result, "block_id", f"get_arg_val<uint32_t>({op.first} + {index})")


def _circular_buffer(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CBOp)
    label = op.index if op.label is None else op.label.data
    name = emitter.names.take(f"cb_{label}")
    emitter.define(op.result, Text(name))
    emitter.statement(f"constexpr uint32_t {name} = tt::CBIndex::c_{op.index};")


def _call(function: str) -> Rule:
    """A statement with all operands, in order."""

    def rule(emitter: Emitter, op: Operation) -> None:
        assert isinstance(emitter, TensixEmitter)
        emitter.invoke(function, op.operands)

    return rule


def _pointer(function: str, hint: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        assert isinstance(emitter, TensixEmitter)
        emitter.named(op.results[0], hint, emitter.invocation(function, op.operands))

    return rule


def _accessor(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, AccessorOp)
    hint = f"tensor_{op.offset}" if op.label is None else op.label.data
    name = emitter.names.take(hint, "tensor")
    address = emitter.operand(op.address)
    emitter.define(op.result, Text(name))
    if emitter.api is Api.OLDER:
        if op.sharded is not None:
            raise emitter.refusal(
                f"tensor '{hint}' is sharded, which the API of {emitter.api.value} has no accessor "
                f"for: use {Api.CURRENT.value}"
            )
        format = op.result.type
        size, host = _format_of(format).tile_bytes, _format_of(format).host_name
        emitter.statement(
            f"const InterleavedAddrGenFast<true> {name} = {{.bank_base_address = {address}, "
            f".page_size = {size}, .data_format = DataFormat::{host}}};"
        )
        return
    args = emitter.names.take(f"{name}_args")
    offset = emitter.accessor_offset(op.offset)
    emitter.accessors.append((op.offset, args))
    emitter.statement(f"constexpr auto {args} = TensorAccessorArgs<{offset}>();")
    emitter.statement(f"const auto {name} = TensorAccessor({args}, {address});")


def _format_of(type: Any) -> Format:
    return type.format


def _page(function: str, older: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        assert isinstance(emitter, TensixEmitter)
        emitter.invoke(older if emitter.api is Api.OLDER else function, op.operands)

    return rule


_BARRIERS = {
    "read": "noc_async_read_barrier",
    "write": "noc_async_write_barrier",
    "flush": "noc_async_writes_flushed",
    "atomic": "noc_async_atomic_barrier",
}


def _barrier(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, NocBarrierOp)
    emitter.statement(f"{_BARRIERS[op.kind.data]}();")


# -- tiles of known contents -----------------------------------------------------------------------


def _fill_page(emitter: Emitter, op: Operation) -> None:
    """Stores in the order of faces: bits 9 and 8 of a position are the face's row and column."""
    assert isinstance(op, FillPageOp)
    bits, type = _stored(op.value_bits, op.tile_format)
    limit = emitter.operand(op.limit, LESS + 1)
    i = emitter.names.take("i")  # the limit may contain the index of a loop around
    row = f"(({i} >> 9) << 4) + (({i} & 255) >> 4)"
    column = f"((({i} >> 8) & 1) << 4) + ({i} & 15)"
    tests = {
        "constant": "",
        "scaler": f"({i} & 240) == 0",
        "columns_below": f"{column} < {limit}",
        "rows_below": f"{row} < {limit}",
        "triangle_below": f"int32_t({column}) < int32_t({row}) + int32_t({limit})",
    }
    indices = {"row_index": row, "column_index": column}
    test = tests.get(op.pattern.data, "")
    value = f"{test} ? {bits} : 0" if test else bits
    if op.pattern.data in indices:
        value = f"{indices[op.pattern.data]} + {emitter.operand(op.limit, SUM)}"
    page = emitter.names.take("page")
    cast = f"reinterpret_cast<volatile tt_l1_ptr {type}*>({emitter.operand(op.l1)})"
    emitter.statement(f"volatile tt_l1_ptr {type}* {page} = {cast};")
    with emitter.block(f"for (uint32_t {i} = 0; {i} < 1024; ++{i})"):
        emitter.statement(f"{page}[{i}] = {value};")


def _stored(bits: int, format: Format) -> tuple[str, str]:
    """The pattern of an fp32 value in a format, and the type of its elements."""
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    if format is Format.BF16:
        pattern = np.array([value], ml_dtypes.bfloat16).view(np.uint16)[0]
        return f"0x{pattern:04x}", "uint16_t"
    if format is Format.F16:
        return f"0x{np.array([value], np.float16).view(np.uint16)[0]:04x}", "uint16_t"
    if format is Format.U16:
        return str(int(value)), "uint16_t"
    return (f"0x{bits:08x}" if format is Format.F32 else str(int(value))), "uint32_t"


# -- multicast and semaphores ----------------------------------------------------------------------


def _rectangle(emitter: Emitter, op: Any, address: str) -> str:
    corners = [emitter.operand(each) for each in (op.x_start, op.y_start, op.x_end, op.y_end)]
    return f"get_noc_multicast_addr({', '.join([*corners, address])})"


def _mcast(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, McastOp)
    source = emitter.operand(op.l1)
    target = _rectangle(emitter, op, source)
    size, dests = _size_of_pages(emitter, op), emitter.operand(op.dests)
    emitter.statement(f"noc_async_write_multicast({source}, {target}, {size}, {dests});")


def _size_of_pages(emitter: Emitter, op: McastOp) -> str:
    """The bytes of a multicast, in tiles of its circular buffer where they are whole tiles."""
    pointer, size = op.l1.owner, constant_integer(op.bytes)
    if isinstance(pointer, CBPointerOp) and size is not None:
        pages, rest = divmod(size, cb_type(pointer.cb).page_bytes)
        if pages and not rest:
            tile = f"get_tile_size({emitter.operand(pointer.cb)})"
            return tile if pages == 1 else f"{pages} * {tile}"
    return emitter.operand(op.bytes)


def _sem(emitter: Emitter, op: Operation) -> None:
    assert isinstance(emitter, TensixEmitter) and isinstance(op, SemOp)
    hint = f"sem{op.index}" if op.label is None else f"sem_{op.label.data}"
    emitter.named(op.result, hint, f"get_semaphore({op.index})")


def _sem_local(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        sem, value = (emitter.operand(each) for each in op.operands)
        name = f"{function}_min" if "min" in op.properties else function
        emitter.statement(f"{name}({_POINTER}({sem}), {value});")

    return rule


def _sem_inc(emitter: Emitter, op: Operation) -> None:
    sem, value, x, y = (emitter.operand(each) for each in op.operands)
    emitter.statement(f"noc_semaphore_inc(get_noc_addr({x}, {y}, {sem}), {value});")


def _sem_mcast(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, SemMcastOp)
    source = emitter.operand(op.sem)
    target = _rectangle(emitter, op, source)
    emitter.statement(
        f"noc_semaphore_set_multicast({source}, {target}, {emitter.operand(op.dests)});"
    )


CIRCULAR_BUFFERS: Mapping[str, Rule] = {
    "tensix.arg": _argument("get_arg_val<uint32_t>"),
    "tensix.arg_at": _arg_at,
    "tensix.ct_arg": _argument("get_compile_time_arg_val"),
    "tensix.cb": _circular_buffer,
    "tensix.cb_reserve": _call("cb_reserve_back"),
    "tensix.cb_push": _call("cb_push_back"),
    "tensix.cb_wait": _call("cb_wait_front"),
    "tensix.cb_pop": _call("cb_pop_front"),
}
"""Rules of kernels of every role."""

RULES: Mapping[str, Rule] = {
    "tensix.cb_write_ptr": _pointer("get_write_ptr", "write_ptr"),
    "tensix.cb_read_ptr": _pointer("get_read_ptr", "read_ptr"),
    "tensix.fill_page": _fill_page,
    "tensix.accessor": _accessor,
    "tensix.noc_read_tile": _page("noc_async_read_page", "noc_async_read_tile"),
    "tensix.noc_write_tile": _page("noc_async_write_page", "noc_async_write_tile"),
    "tensix.noc_barrier": _barrier,
    "tensix.mcast": _mcast,
    "tensix.sem": _sem,
    "tensix.sem_set": _sem_local("noc_semaphore_set"),
    "tensix.sem_inc": _sem_inc,
    "tensix.sem_wait": _sem_local("noc_semaphore_wait"),
    "tensix.sem_mcast": _sem_mcast,
}
"""Rules of readers and writers."""

__all__ = ["ATOM", "CIRCULAR_BUFFERS", "RULES"]
