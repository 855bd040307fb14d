"""Tensor cores: matrices between shared memory and lanes, and MMAs, in register order.

Which element a register holds comes from `layouts/hardware`; the address of a `wgmma` operand comes
from its descriptor, decoded and read as the hardware does. A `wgmma` takes effect when it finishes:
until then the accumulator belongs to the tensor core, and the operands must not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from tilewright.dialects.nv.matrix import (
    LdMatrixOp,
    MatrixDescriptorOp,
    MatrixMoveOp,
    MatrixOp,
    MmaOp,
    StMatrixOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
)
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.descriptors import MatrixDescriptor, read_address
from tilewright.layouts.hardware.mma_sync import mma_a, mma_b, mma_c
from tilewright.layouts.hardware.wgmma import wgmma_a, wgmma_d
from tilewright.targets.numpy.dtypes import scalar_type
from tilewright.targets.numpy.simt.buffers import SharedBuffer
from tilewright.targets.numpy.simt.machine import Pending
from tilewright.targets.numpy.simt.memory import converted
from tilewright.targets.numpy.simt.program import Act, Compiler, Rule
from tilewright.targets.numpy.simt.scalars import type_of
from tilewright.targets.numpy.simt.shadow import SEVERAL, ShadowAccess
from tilewright.targets.numpy.simt.state import GROUP, Frame

_ROW_BYTES = 16
_SIDE = 8
_TF32_MASK = np.uint32(0xFFFFE000)
"""The bits of single precision that tf32 has."""


def _maps(fragment: Fragment) -> tuple[Any, Any]:
    """Thread and register of each element."""
    rows, columns = np.indices(fragment.shape)
    thread = np.broadcast_to(fragment.thread(rows, columns), fragment.shape)
    return thread, np.broadcast_to(fragment.index(rows, columns), fragment.shape)


@cache
def _mma_maps(k: int, bits: int) -> tuple[Any, Any, Any]:
    return _maps(mma_a(k, bits)), _maps(mma_b(k, bits)), _maps(mma_c())


@cache
def _sum_map(n: int) -> tuple[Any, Any]:
    return _maps(wgmma_d(n))


@cache
def _operand_map(bits: int) -> tuple[Any, Any]:
    return _maps(wgmma_a(bits))


def as_signed(values: Any, unsigned: UnitAttr | None) -> Any:
    """Elements of an operand, read as its instruction reads them."""
    return values if unsigned is None else np.ascontiguousarray(values).view(np.uint8)


def multiply(a: Any, b: Any, c: Any) -> Any:
    """``c + a @ b`` in the accumulator type, at least single precision, as in tensor cores."""
    if c.dtype.kind == "i":
        return c + np.matmul(a.astype(np.int32), b.astype(np.int32))
    total = c.astype(np.float32) + np.matmul(a.astype(np.float32), b.astype(np.float32))
    return converted(total, c.dtype)


def as_read(values: Any) -> Any:
    """Elements of an operand as tensor cores read them: single precision as tf32."""
    if values.dtype != np.float32:
        return values
    return (np.ascontiguousarray(values).view(np.uint32) & _TF32_MASK).view(np.float32)


# -- ldmatrix, stmatrix ------------------------------------------------------------------------


def _rows(frame: Frame, buffer: SharedBuffer, index: Any, count: int, *, writes: bool) -> Any:
    """Elements of the rows that lanes name: [warps, matrices, row, elements of 16 bytes]."""
    warps = frame.whole_warps("ldmatrix or stmatrix")
    width = _ROW_BYTES // buffer.dtype.itemsize
    lanes = frame.wide(index)[frame.active].reshape(len(warps), NVIDIA_WARP)
    start = lanes[:, : count * _SIDE].reshape(len(warps), count, _SIDE)
    low, high = int(start.min()), int(start.max()) + width
    if low < 0 or high > buffer.size:
        raise frame.problem(
            "out of bounds",
            "matrix row out of bounds: the row reaches "
            f"{buffer.name}[{low if low < 0 else high - 1}], "
            f"but '{buffer.name}' has {buffer.size} elements",
        )
    address = buffer.address(start)
    if (address % _ROW_BYTES != 0).any():
        wrong = int(start[address % _ROW_BYTES != 0][0])
        raise frame.problem(
            "misaligned",
            f"misaligned matrix row: {buffer.name}[{wrong}] is not at a multiple of 16 bytes",
        )
    if frame.block.options.checked and frame.op is not None:
        shadow = frame.block.shadow
        threads = np.repeat(warps * NVIDIA_WARP, count * _SIDE)
        access = shadow.access(address.ravel(), _ROW_BYTES, threads)
        # What a lane gets comes from rows that others name.
        access = ShadowAccess(access.granules, access.warps, np.full(len(access.warps), SEVERAL))
        (shadow.write_by_threads if writes else shadow.read_by_threads)(frame.op, access)
    return start[..., None] + np.arange(width)


def _to_lanes(rows: Any, transposed: bool) -> Any:
    """[warps, matrices, 8, 16 bytes] as what each lane holds: [warps * 32, elements]."""
    if transposed:
        rows = rows.swapaxes(2, 3)
    warps, count, side, width = rows.shape
    parts = rows.reshape(warps, count, side, 4, width // 4)
    return parts.transpose(0, 2, 3, 1, 4).reshape(warps * NVIDIA_WARP, count * (width // 4))


def _from_lanes(values: Any, count: int, transposed: bool) -> Any:
    warps, part = len(values) // NVIDIA_WARP, values.shape[1] // count
    parts = values.reshape(warps, _SIDE, 4, count, part).transpose(0, 3, 1, 2, 4)
    rows = parts.reshape(warps, count, _SIDE, 4 * part)
    return rows.swapaxes(2, 3) if transposed else rows


def _matrix_move(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MatrixMoveOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    at, to = compiler.slot(op.src_index), compiler.slot(op.dst_index)
    count, transposed = op.count.value.data, op.transposed is not None
    registers = op.registers

    def load(frame: Frame) -> None:
        src, dst = frame.env[source], frame.env[target]
        rows = _rows(frame, src, frame.env[at], count, writes=False)
        where = dst.fragment(frame, frame.env[to], registers, writes=True)
        dst.data[where] = _to_lanes(src.data[rows], transposed)

    def store(frame: Frame) -> None:
        src, dst = frame.env[source], frame.env[target]
        rows = _rows(frame, dst, frame.env[to], count, writes=True)
        values = src.data[src.fragment(frame, frame.env[at], registers)]
        dst.data[rows] = _from_lanes(values, count, transposed)

    assert isinstance(op, LdMatrixOp | StMatrixOp)
    return load if isinstance(op, LdMatrixOp) else store


# -- mma.sync ----------------------------------------------------------------------------------


def _mma(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MmaOp)
    buffers = compiler.all_slots((op.a, op.b, op.c))
    indices = compiler.all_slots((op.a_index, op.b_index, op.c_index))
    _, _, k = op.mnk
    maps = _mma_maps(k, 8 * type_of(op.a).dtype.itemsize)
    counts = op.registers()

    def act(frame: Frame) -> None:
        warps = len(frame.whole_warps("nv.mma"))
        held = [frame.env[each] for each in buffers]
        values: list[Any] = []
        for buffer, index, count in zip(held, indices, counts, strict=True):
            where = buffer.fragment(frame, frame.env[index], count)
            values.append(buffer.data[where].reshape(warps, NVIDIA_WARP, count))
        a, b, c = (
            value[:, thread, register]
            for value, (thread, register) in zip(values, maps, strict=True)
        )
        thread, register = maps[2]
        a, b = as_signed(a, op.unsigned_a), as_signed(b, op.unsigned_b)
        values[2][:, thread, register] = multiply(as_read(a), as_read(b), c)
        where = held[2].fragment(frame, frame.env[indices[2]], counts[2], writes=True)
        held[2].data[where] = values[2].reshape(warps * NVIDIA_WARP, counts[2])

    return act


# -- wgmma -------------------------------------------------------------------------------------


def _matrix(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MatrixOp)
    return matrix_rule(compiler, op, MatrixDescriptor.encode, "wgmma")


def matrix_rule(
    compiler: Compiler,
    op: MatrixDescriptorOp,
    encode: Callable[[MatrixDescriptor], int],
    user: str,
) -> Act:
    """Makes the descriptor of an operand."""
    where, at, result = compiler.slot(op.buffer), compiler.slot(op.index), compiler.slot(op.result)
    swizzle, leading, stride = (each.value.data for each in (op.swizzle, op.leading, op.stride))
    advance = op.advance_bytes

    def act(frame: Frame) -> None:
        buffer, index = frame.env[where], frame.env[at]
        known: dict[int, int] = {}
        for each in np.unique(index):
            start = int(buffer.address(each)) + advance
            if start % _ROW_BYTES or start < 0:
                raise frame.problem(
                    "misaligned",
                    f"misaligned {user} operand: {buffer.name}[{int(each)}] is not at a "
                    "multiple of 16 "
                    "bytes",
                )
            code = encode(MatrixDescriptor(start, leading, stride, swizzle))
            known[int(each)] = code - (1 << 64) if code >> 63 else code
        if index.ndim == 0:
            frame.env[result] = np.int64(known[int(index)])
        else:
            frame.env[result] = np.array([known[int(each)] for each in index], np.int64)

    return act


def _wgmma(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, WgmmaOp)
    return _Wgmma(compiler, op).issue


class _Wgmma:
    """One `nv.wgmma` in the code."""

    def __init__(self, compiler: Compiler, op: WgmmaOp) -> None:
        self.op = op
        self.a, self.b = compiler.slot(op.a), compiler.slot(op.b)
        self.a_index = None if op.a_index is None else compiler.slot(op.a_index)
        self.acc, self.acc_index = compiler.slot(op.acc), compiler.slot(op.acc_index)
        self.scale = None if op.scale_d is None else compiler.slot(op.scale_d)
        _, self.n, self.k = op.mnk
        types = scalar_type(op.a_type), scalar_type(op.b_type)
        assert types[0] is not None and types[1] is not None
        self.a_type, self.b_type = types[0].dtype, types[1].dtype
        self.acc_registers = op.accumulators
        self.k_major = op.transposed_a is None, op.transposed_b is None

    def issue(self, frame: Frame) -> None:
        for first in frame.whole_groups("nv.wgmma"):
            self._issue(frame, first)

    def _group_value(self, frame: Frame, slot: int, first: int, what: str) -> int:
        """A number that all threads of a warp group agree on."""
        value = frame.env[slot]
        if not value.ndim:
            return int(value)
        in_group = value[
            (frame.tids >= first * NVIDIA_WARP) & (frame.tids < first * NVIDIA_WARP + GROUP)
        ]
        if (in_group != in_group[0]).any():
            raise frame.problem(
                "divergent", f"threads of a warp group have different values of {what}"
            )
        return int(in_group[0])

    def _issue(self, frame: Frame, first: int) -> None:
        block, op = frame.block, self.op
        acc = frame.env[self.acc]
        base = self._group_value(frame, self.acc_index, first, "the accumulator index")
        rows = slice(first * NVIDIA_WARP, first * NVIDIA_WARP + GROUP)
        columns = slice(base, base + self.acc_registers)
        if not 0 <= base <= acc.size - self.acc_registers:
            raise frame.problem(
                "out of bounds",
                f"wgmma accumulator out of bounds: {acc.name}[{base}] to "
                f"[{base + self.acc_registers - 1}], "
                f"but '{acc.name}' has {acc.size} registers",
            )
        self._check_registers(frame, acc, rows, columns)
        b_addresses = self._operand(frame, self.b, first, self.n, self.b_type, self.k_major[1])
        if self.a_index is None:
            a_addresses = self._operand(frame, self.a, first, 64, self.a_type, self.k_major[0])
            taken = None
        else:
            a_addresses = None
            start = self._group_value(frame, self.a_index, first, "the operand index")
            count = 64 * self.k // GROUP
            taken = frame.env[self.a], slice(start, start + count)
            if not 0 <= start <= taken[0].size - count:
                raise frame.problem(
                    "out of bounds",
                    f"wgmma operand out of bounds: {taken[0].name}[{start}] to "
                    f"[{start + count - 1}], but '{taken[0].name}' has {taken[0].size} registers",
                )
            self._check_registers(frame, taken[0], rows, taken[1])
            taken[0].taken[rows, taken[1]] += 1
        adds = self.scale is None or bool(self._group_value(frame, self.scale, first, "scale-d"))
        agent = block.clocks.mma_agent(first)
        time = int(block.clocks.tick(agent))
        if block.options.checked:
            self._read(frame, first, agent, time, a_addresses, b_addresses)
        acc.flight[rows, columns] += 1
        acc.unsettled[rows, columns] = True

        def finish() -> None:
            b = elements(block.arena, b_addresses, self.b_type)
            if taken is None:
                a = elements(block.arena, a_addresses, self.a_type)
            else:
                thread, register = _operand_map(8 * self.a_type.itemsize)
                a = taken[0].data[rows, taken[1]][thread, register]
            thread, register = _sum_map(self.n)
            held = acc.data[rows, columns]
            c = held[thread, register] if adds else np.zeros((64, self.n), acc.data.dtype)
            a, b = as_signed(a, op.unsigned_a), as_signed(b, op.unsigned_b)
            held[thread, register] = multiply(as_read(a), as_read(b).T, c)

        def landed() -> None:
            acc.flight[rows, columns] -= 1
            if taken is not None:
                taken[0].taken[rows, taken[1]] -= 1
            block.clocks.observe(np.arange(first, first + 4), agent, time)

        operation = Pending("wgmma", finish, op, frame.name, landed=landed)
        block.machine.issue(f"tensor core {block.rank}.{first}", operation, in_order=True)
        frame.mmas.issue(operation)

    def _check_registers(self, frame: Frame, held: Any, rows: Any, columns: Any) -> None:
        if not frame.block.options.checked:
            return
        if (held.changed[rows, columns] > frame.fence_time).any():
            raise frame.problem(
                "fence",
                f"'{held.name}' was written after the last nv.wgmma.fence: "
                "the write may not be visible to wgmma",
            )

    def _operand(
        self, frame: Frame, slot: int, first: int, side: int, dtype: Any, k_major: bool
    ) -> Any:
        """Byte addresses of an operand, [rows along M or N, depth]."""
        value = self._group_value(frame, slot, first, "the matrix descriptor")
        descriptor = MatrixDescriptor.decode(value & ((1 << 64) - 1))
        bits = 8 * dtype.itemsize
        along, depth = np.indices((side, self.k))
        addresses: Any = read_address(descriptor, along, depth, bits, k_major)  # pyright: ignore[reportArgumentType]
        if int(addresses.max()) + dtype.itemsize > len(frame.block.arena):
            raise frame.problem(
                "out of bounds",
                f"wgmma operand out of bounds: byte {int(addresses.max())} of shared memory, "
                f"but the block has {len(frame.block.arena)} bytes",
            )
        return addresses

    def _read(
        self, frame: Frame, first: int, agent: int, time: int, a_addresses: Any, b_addresses: Any
    ) -> None:
        shadow = frame.block.shadow
        issuer = frame.block.clocks.common(np.arange(first, first + 4))
        for addresses, dtype in ((a_addresses, self.a_type), (b_addresses, self.b_type)):
            if addresses is not None:
                granules = shadow.spread(addresses, dtype.itemsize)
                shadow.read_by_engine(self.op, granules, agent, time, issuer, None)


def elements(arena: Any, addresses: Any, dtype: np.dtype[Any]) -> Any:
    return arena.view(dtype)[addresses // dtype.itemsize]


def _fence_operand(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, WgmmaFenceOperandOp)
    slot = compiler.slot(op.acc)

    def act(frame: Frame) -> None:
        held = frame.env[slot]
        if held.flight is not None:
            rows = frame.active_tids
            held.unsettled[rows] &= held.flight[rows] > 0

    return act


RULES: Mapping[str, Rule] = {
    "nv.ldmatrix": _matrix_move,
    "nv.stmatrix": _matrix_move,
    "nv.mma": _mma,
    "nv.matrix": _matrix,
    "nv.wgmma": _wgmma,
    "nv.wgmma.fence_operand": _fence_operand,
}
