"""Compute kernels: DST and its sections, configurations, FPU, SFPU and packer.

DST slots are arrays, or None while undefined: after an acquire every slot is. An undefined slot
reads as the identity of an FPU op (0, or minus infinity for a maximum) and as 0 for the packer; a
read by the SFPU or the packer is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.functions import Engine, InitKey
from tilewright.dialects.tensix.protocol import Section
from tilewright.targets.tenstorrent.execution import Check, Numerics
from tilewright.targets.tenstorrent.machine.circular import CircularBuffer
from tilewright.targets.tenstorrent.machine.functions import (
    BINARY,
    INTEGER_BINARY,
    UNARY,
    broadcast,
    masked,
    reduced,
    with_scalar,
)
from tilewright.targets.tenstorrent.machine.thread import Thread
from tilewright.targets.tenstorrent.machine.tiles import (
    DTYPES,
    Tile,
    encode,
    float_of,
    rounded_to_16_bits,
    truncated_to_16_bits,
    unpacked,
)

_STEPS = {
    "acquire": (Section.IDLE, Section.MATH),
    "commit": (Section.MATH, Section.COMMITTED),
    "wait": (Section.COMMITTED, Section.PACK),
    "release": (Section.PACK, Section.IDLE),
}


class ComputeThread(Thread):
    """A compute kernel on one core."""

    def start(self, dst_tiles: int, fp32_dest_acc: bool) -> None:
        """Nothing is configured, DST is undefined."""
        self.dst: list[Tile | None] = [None] * dst_tiles
        self.unused: set[int] = set()
        """Slots whose value neither the SFPU nor the packer has read."""
        self.section = Section.IDLE
        self.configured: dict[Engine, InitKey | None] = {Engine.FPU: None, Engine.SFPU: None}
        self.sources: tuple[Format | None, Format | None] = (None, None)
        self.packer: Format | None = None
        self.mask = ""
        """The reduction whose result the packer stores, with zeros elsewhere; none if empty."""
        self.reduced: set[int] = set()
        """Slots that hold the result of a reduction."""
        self.l1_acc = False
        self.device_like = self.run.options.numerics is Numerics.DEVICE
        self.rounds_dst = self.device_like and not fp32_dest_acc

    # -- configuration -----------------------------------------------------------------------

    def hw_startup(
        self,
        in0: CircularBuffer,
        in1: CircularBuffer,
        out: CircularBuffer,
        matmul: bool,
        site: int,
    ) -> None:
        self.reconfig(in0, in1, matmul, site)
        self.pack_reconfig(out, site)

    def reconfig(self, in0: CircularBuffer, in1: CircularBuffer, matmul: bool, site: int) -> None:
        del site
        self.sources = (in1.format, in0.format) if matmul else (in0.format, in1.format)

    def pack_reconfig(self, out: CircularBuffer, site: int) -> None:
        del site
        self.packer = out.format

    def pack_l1_acc(self, enabled: bool, site: int) -> None:
        del site
        self.l1_acc = enabled

    def init(self, key: InitKey, site: int) -> None:
        del site
        if key.kind == "reduce_end":
            self.mask = ""
            self.configured[Engine.FPU] = None
            return
        if key.kind == "reduce":
            self.mask = key.dim
        self.configured[key.engine] = key

    # -- sections ----------------------------------------------------------------------------

    def section_step(self, step: str, site: int) -> None:
        before, after = _STEPS[step]
        if self.section is not before:
            self.report(
                Check.DST_SECTION,
                f"dst_{step} needs DST in section '{before.value}', got '{self.section.value}'",
                site,
            )
        self.section = after
        if step == "release":
            self._check_unused(site)
            self.dst = [None] * len(self.dst)

    def _check_unused(self, site: int) -> None:
        for slot in sorted(self.unused):
            self.report(
                Check.UNUSED_DST,
                f"DST slot {slot} is released with a result that was not packed",
                site,
            )
        self.unused.clear()
        self.reduced.clear()

    # -- math --------------------------------------------------------------------------------

    def _math(self, key: InitKey, site: int, *sources: CircularBuffer) -> None:
        """Checks of every math op."""
        if self.section is not Section.MATH:
            self.report(
                Check.DST_SECTION,
                f"math outside of its DST section, which is '{self.section.value}'",
                site,
            )
        current = self.configured[key.engine]
        if current != key:
            got = "none" if current is None else f"'{current}'"
            self.report(Check.MISSING_INIT, f"needs init '{key}', configured is {got}", site)
        for name, source, format in zip(("SrcA", "SrcB"), sources, self.sources, strict=False):
            if source.format is not format:
                got = "no format" if format is None else format.value
                self.report(
                    Check.MISSING_INIT,
                    f"unpacks {source.format.value} of {source.name} to {name}, set to {got}",
                    site,
                )

    def _slot(self, slot: int, site: int) -> int:
        if not 0 <= slot < len(self.dst):
            self.stop(
                Check.DST_RANGE, f"DST slot {slot}: a section has {len(self.dst)} tiles", site
            )
        return slot

    def _operand(self, cb: CircularBuffer, index: int, site: int) -> Tile:
        tile = self.core.l1.tile(self.readable(cb, index, site), cb.format)
        return unpacked(tile) if self.device_like else tile

    def _defined(self, slot: int, site: int) -> Tile:
        """A slot that the SFPU reads."""
        self.unused.discard(slot)
        found = self.dst[self._slot(slot, site)]
        if found is None:
            self.report(
                Check.UNDEFINED_DST,
                f"the SFPU reads DST slot {slot}, which no op has written in this section",
                site,
            )
            return np.full((32, 32), np.nan, np.float32)
        return found

    def _set(self, slot: int, tile: Tile, site: int) -> None:
        slot = self._slot(slot, site)
        self.unused.add(slot)
        self.reduced.discard(slot)
        self.dst[slot] = rounded_to_16_bits(tile) if self.rounds_dst else tile

    def _accumulate(self, slot: int, tile: Tile, site: int) -> None:
        old = self.dst[self._slot(slot, site)]
        self._set(slot, tile if old is None else old + tile, site)

    def matmul_tile(
        self,
        key: InitKey,
        in0: CircularBuffer,
        index0: int,
        in1: CircularBuffer,
        index1: int,
        dst: int,
        site: int,
    ) -> None:
        self._math(key, site, in1, in0)
        a, b = self._operand(in0, index0, site), self._operand(in1, index1, site)
        self._accumulate(dst, a @ (b.T if key.transpose else b), site)

    def matmul_block(
        self,
        key: InitKey,
        in0: CircularBuffer,
        index0: int,
        in1: CircularBuffer,
        index1: int,
        dst: int,
        site: int,
    ) -> None:
        self._math(key, site, in1, in0)
        columns, rows, stride = key.block
        left = np.concatenate([self._operand(in0, index0 + r * stride, site) for r in range(rows)])
        tiles = [self._operand(in1, index1 + c, site) for c in range(columns)]
        right = np.concatenate([each.T if key.transpose else each for each in tiles], axis=1)
        found = left @ right
        for r in range(rows):
            for c in range(columns):
                part = found[32 * r : 32 * r + 32, 32 * c : 32 * c + 32]
                self._accumulate(dst + r * columns + c, part, site)

    def copy_tile(self, key: InitKey, cb: CircularBuffer, index: int, dst: int, site: int) -> None:
        self._math(key, site, cb)
        # The unpacker copies 32-bit elements to a DST of 32 bits without conversion.
        self._set(dst, self._operand(cb, index, site), site)

    def transpose(self, key: InitKey, cb: CircularBuffer, index: int, dst: int, site: int) -> None:
        self._math(key, site, cb)
        self._set(dst, np.ascontiguousarray(self._operand(cb, index, site).T), site)

    def binary(
        self,
        key: InitKey,
        in0: CircularBuffer,
        index0: int,
        in1: CircularBuffer,
        index1: int,
        dst: int,
        site: int,
    ) -> None:
        self._math(key, site, in0, in1)
        a, b = self._operand(in0, index0, site), self._operand(in1, index1, site)
        if key.kind == "bcast":
            b = broadcast(b, key.dim)
        found = BINARY[key.function](a, b)
        if key.function == "mul" or key.accumulate:
            self._accumulate(dst, found, site)
        else:
            self._set(dst, found, site)

    def reduce(
        self,
        key: InitKey,
        in0: CircularBuffer,
        index0: int,
        in1: CircularBuffer,
        index1: int,
        dst: int,
        site: int,
    ) -> None:
        swapped = key.dim == "row" and key.function != "max"
        self._math(key, site, *((in1, in0) if swapped else (in0, in1)))
        tile, scaler = self._operand(in0, index0, site), self._operand(in1, index1, site)
        found = reduced(tile, scaler, key.function, key.dim)
        old = self.dst[self._slot(dst, site)]
        if old is not None:
            found = np.maximum(old, found) if key.function == "max" else old + found
        self._set(dst, found, site)
        self.reduced.add(dst)

    def _sfpu(self, function: Callable[..., Tile], *tiles: Tile) -> Tile:
        found = function(*tiles)
        return found.astype(tiles[0].dtype, copy=False)

    def _set_elementwise(self, dst: int, tile: Tile, operands: tuple[int, ...], site: int) -> None:
        """A result that is a reduction if an operand is."""
        is_reduction = any(each in self.reduced for each in operands)
        self._set(dst, truncated_to_16_bits(tile) if self.rounds_dst else tile, site)
        if is_reduction:
            self.reduced.add(dst)

    def unary(self, key: InitKey, dst: int, site: int) -> None:
        self._math(key, site)
        found = self._sfpu(UNARY[key.function], self._defined(dst, site))
        self._set_elementwise(dst, found, (dst,), site)

    def unary_scalar(self, key: InitKey, function: str, dst: int, bits: int, site: int) -> None:
        self._math(key, site)
        scalar = np.full((1, 1), float_of(bits))
        found = self._sfpu(partial(with_scalar, function), self._defined(dst, site), scalar)
        self._set_elementwise(dst, found, (dst,), site)

    def binary_dst(self, key: InitKey, lhs: int, rhs: int, dst: int, site: int) -> None:
        self._math(key, site)
        tiles = self._defined(lhs, site), self._defined(rhs, site)
        function = INTEGER_BINARY.get(key.function)
        for slot, tile in zip((lhs, rhs), tiles, strict=True):
            if (tile.dtype == np.float32) == (function is not None):
                held = "floats" if tile.dtype == np.float32 else "integers"
                self.report(
                    Check.MISSING_INIT,
                    f"'{key.function}' reads DST slot {slot}, which holds {held}: typecast is "
                    "missing",
                    site,
                )
        found = self._sfpu(function or BINARY[key.function], *tiles)
        self._set_elementwise(dst, found, (lhs, rhs), site)

    def where(self, key: InitKey, condition: int, lhs: int, rhs: int, dst: int, site: int) -> None:
        self._math(key, site)
        test, a, b = (self._defined(each, site) for each in (condition, lhs, rhs))
        self._set_elementwise(dst, np.where(test != 0, a, b), (lhs, rhs), site)

    def fill(self, key: InitKey, dst: int, bits: int, site: int) -> None:
        self._math(key, site)
        self._set_elementwise(dst, np.full((32, 32), float_of(bits), np.float32), (), site)

    def fill_word(self, key: InitKey, format: Format, dst: int, word: int, site: int) -> None:
        self._math(key, site)
        value = float_of(word) if format is Format.F32 else np.uint32(word).view(np.int32)
        self._set_elementwise(dst, np.full((32, 32), value), (), site)

    def typecast(self, key: InitKey, dst: int, site: int) -> None:
        self._math(key, site)
        target = Format(key.dim)
        tile = self._defined(dst, site)
        typed = tile.astype(DTYPES[target])
        is_integer = target in (Format.I32, Format.U32, Format.U16)
        found = typed if is_integer else typed.astype(np.float32)
        self._set_elementwise(dst, found, (dst,), site)

    # -- packer ------------------------------------------------------------------------------

    def pack(self, dst: int, cb: CircularBuffer, index: int | None, site: int) -> None:
        if self.section is not Section.PACK:
            self.report(
                Check.DST_SECTION,
                f"pack outside of its DST section, which is '{self.section.value}'",
                site,
            )
        if self.packer is not cb.format:
            got = "no format" if self.packer is None else self.packer.value
            self.report(
                Check.MISSING_INIT,
                f"packs {cb.format.value} to {cb.name}, the packer is set to {got}",
                site,
            )
        window = cb.writer(self.kernel)
        page = window.packed if index is None else index
        if page >= window.pages:
            self.report(
                Check.OUTSIDE_WINDOW,
                f"packs to page {page} of {cb.name}, {window.pages} pages are reserved",
                site,
            )
        if window.pointer + page >= cb.pages:
            self.stop(Check.STRADDLING_WRAP, f"packs past the end of {cb.name}", site)
        if index is None:
            window.packed += 1
        address = cb.window_address(window, page)
        tile = self.dst[self._slot(dst, site)]
        self.unused.discard(dst)
        if tile is None:
            # The hardware packs zeros; no kernel of this compiler relies on it.
            self.report(
                Check.UNDEFINED_DST,
                f"packs DST slot {dst}, which no op has written in this section",
                site,
            )
            tile = np.zeros((32, 32), np.float32)
        if self.mask and dst not in self.reduced:
            self.report(
                Check.MISSING_INIT,
                f"packs DST slot {dst} with the mask of a reduction along '{self.mask}': "
                "init reduce_end is missing",
                site,
            )
        if self.mask:
            tile = masked(tile, self.mask)
        if self.l1_acc:
            tile = tile + self.core.l1.tile(address, cb.format)
        self.core.l1.write(address, encode(tile, cb.format))
