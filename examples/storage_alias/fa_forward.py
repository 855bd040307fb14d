"""Flash-attention forward for Blackwell, as IR with a storage-alias spec.

    python examples/storage_alias/fa_forward.py      writes all variants next to this file

One CTA owns 2 x 128 rows of Q and walks over K and V in blocks of 128. Five tasks run at the same
time: two softmax tasks (one for each 128 rows), the correction of the accumulator, the matrix
instructions and the loads. Tensor memory has 512 columns and the scores alone take 256, so what a
softmax task makes of its scores lies over them:

    shared(qk, distinct(shared(p, group_size=SLICES), alpha, l, m))

P is written in slices, so that the second matrix product can start before all of it is there. In
shared memory the result is staged where the keys were, once they have all been used:

    shared(shared(k, group_size=2), staged)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

GROUPS, ROWS, KEYS, STAGES = 2, 128, 128, 2
BARRIERS = (
    *("q_full", "k_full", "k_empty", "v_full", "v_empty", "qk_full", "p_full"),
    *("alpha_full", "alpha_empty", "acc_ready", "pv_done", "lm_full"),
)
BITS = {"bf16": 16, "f8E5M2": 8}
LANES = "lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []"

STAGE = (
    "%stage = arith.remui %j, %c2 : i32",
    "%round = arith.divui %j, %c2 : i32",
    "%phase = arith.remui %round, %c2 : i32",
    "%before = arith.xori %phase, %c1 : i32",
)
"""Which of two buffers, and whether its barrier has turned an even or odd number of times."""

TURN = ("%turn = arith.remui %j, %c2 : i32", "%last = arith.xori %turn, %c1 : i32")
"""The same for barriers that turn once in every block of keys."""


@dataclass(frozen=True)
class Variant:
    """What the variants differ in."""

    slices: int
    dtype: str
    head_dim: int

    @property
    def name(self) -> str:
        short = "bf16" if self.dtype == "bf16" else "fp8"
        return f"fa_forward_{self.slices}slices_{short}_d{self.head_dim}"

    @property
    def width(self) -> int:
        """Columns of one slice of P."""
        return KEYS // self.slices

    @property
    def tile_bytes(self) -> int:
        return ROWS * self.head_dim * BITS[self.dtype] // 8


VARIANTS = tuple(
    Variant(slices, dtype, head_dim)
    for slices in (2, 4)
    for dtype in BITS
    for head_dim in (64, 128)
)


def tmem(*shape: int, element: str = "f32") -> str:
    extents = "x".join(map(str, shape))
    return f"!ttg.memdesc<{extents}x{element}, #tmem{shape[-1]}, #ttng.tensor_memory, mutable>"


def tile(columns: int, element: str = "f32") -> str:
    return f"tensor<{ROWS}x{columns}x{element}, #row{columns}>"


def one_of(array: str) -> str:
    """The type of a buffer of an array."""
    head, _, rest = array.partition("<")
    return f"{head}<{rest.partition('x')[2]}"


def indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def constants(*numbers: int) -> list[str]:
    return [f"%c{number} = arith.constant {number} : i32" for number in dict.fromkeys(numbers)]


def for_blocks(body: Sequence[str], carried: Sequence[tuple[str, str, str, str]] = ()) -> list[str]:
    """A loop over blocks of keys; `carried` are name inside, initial value, next value, type."""
    head = "scf.for %j = %c0 to %blocks step %c1"
    if not carried:
        return [f"{head} : i32 {{", *indented(body), "}"]
    types = ", ".join(type for *_, type in carried)
    inits = ", ".join(f"%{name} = %{init}" for name, init, *_ in carried)
    nexts = ", ".join(f"%{value}" for _, _, value, _ in carried)
    return [
        f"%state:{len(carried)} = {head} iter_args({inits}) -> ({types}) : i32 {{",
        *indented([*body, f"scf.yield {nexts} : {types}"]),
        "}",
    ]


def reduced(name: str, source: str, combine: str, width: int, row: str) -> list[str]:
    return [
        f'%{name} = "tt.reduce"(%{source}) <{{axis = 1 : i32}}> ({{',
        f"^bb0(%{name}_a: f32, %{name}_b: f32):",
        f"  %{name}_c = {combine} %{name}_a, %{name}_b : f32",
        f"  tt.reduce.return %{name}_c : f32",
        f"}}) : ({tile(width)}) -> {row}",
    ]


class Kernel:
    """Writes one variant."""

    def __init__(self, variant: Variant) -> None:
        v = self.v = variant
        self.row = f"tensor<128xf32, #ttg.slice<{{dim = 1, parent = #row{v.width}}}>>"
        self.arrays = {
            "q": self.smem(GROUPS, ROWS),
            "k": self.smem(STAGES, KEYS),
            "v": self.smem(STAGES * v.slices, v.width),
            "qk": tmem(GROUPS, ROWS, KEYS),
            "p": tmem(GROUPS * v.slices, ROWS, v.width, element=v.dtype),
            "alpha": tmem(GROUPS, ROWS, 1),
            "l": tmem(GROUPS, ROWS, 1),
            "m": tmem(GROUPS, ROWS, 1),
            "acc": tmem(GROUPS, ROWS, v.head_dim),
        }
        self.staged = f"!ttg.memdesc<1x{ROWS}x{v.head_dim}xf32, #out, #smem, mutable>"

    def smem(self, count: int, rows: int) -> str:
        shape = f"{count}x{rows}x{self.v.head_dim}x{self.v.dtype}"
        return f"!ttg.memdesc<{shape}, #tile, #smem, mutable>"

    def text(self) -> str:
        v = self.v
        return "\n".join(
            [
                f"// Flash-attention forward: {v.slices} slices of P, {v.dtype}, "
                f"head dim {v.head_dim}. Written by fa_forward.py.",
                *self.aliases(),
                'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, '
                'ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {',
                "  tt.func public @fa_forward(%q_desc: !desc, %k_desc: !desc, %v_desc: !vdesc, "
                "%out: !odesc, %blocks: i32, %scale: f32) {",
                *indented(indented([*self.memory(), *self.tasks(), "tt.return"])),
                "  }",
                "}",
                "",
            ]
        )

    def aliases(self) -> Iterator[str]:
        v = self.v
        bits, swizzle = BITS[v.dtype], min(128, v.head_dim * BITS[v.dtype] // 8)
        widths = sorted({1, v.width, KEYS, v.head_dim})
        for width in widths:
            bases = ", ".join(f"[0, {1 << bit}]" for bit in range(width.bit_length() - 1))
            yield f"#row{width} = #ttg.linear<{{register = [{bases}], {LANES}}}>"
        for name, transposed in (("tile", "false"), ("tile_t", "true")):
            yield (
                f"#{name} = #ttg.nvmma_shared<{{swizzlingByteWidth = {swizzle}, "
                f"transposed = {transposed}, elementBitWidth = {bits}}}>"
            )
        yield (
            "#out = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, "
            "elementBitWidth = 32}>"
        )
        yield "#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
        yield "#smem = #ttg.shared_memory"
        for width in widths:
            yield (
                f"#tmem{width} = #ttng.tensor_memory_encoding<blockM = 128, blockN = {width}, "
                "colStride = 1>"
            )
        yield "!bar = !ttg.memdesc<1xi64, #flat, #smem, mutable>"
        yield "!bars = !ttg.memdesc<2x1xi64, #flat, #smem, mutable>"
        yield f"!desc = !tt.tensordesc<{ROWS}x{v.head_dim}x{v.dtype}, #tile>"
        yield f"!vdesc = !tt.tensordesc<{v.width}x{v.head_dim}x{v.dtype}, #tile>"
        yield f"!odesc = !tt.tensordesc<{ROWS}x{v.head_dim}xf32, #out>"

    def memory(self) -> Iterator[str]:
        spec, arrays = "!tlx.storage_alias_spec<tmem>", self.arrays
        yield from constants(0, 1)
        for name in ("q", "v"):
            yield f"%{name} = ttg.local_alloc : () -> {arrays[name]}"
        yield from self.staging()
        yield f"%region = tlx.storage_alias_spec storage = tmem : {spec}"
        for name in ("qk", "p", "alpha", "l", "m"):
            yield f"%{name} = tlx.storage_alias_local_alloc %region : {spec} -> {arrays[name]}"
        yield (
            f"%tiles = tlx.reuse_group(%p) group_kind = shared, group_size = {self.v.slices} "
            f": ({arrays['p']}) -> !tlx.reuse_group<shared>"
        )
        scalars = ", ".join(arrays[name] for name in ("alpha", "l", "m"))
        yield (
            "%made = tlx.reuse_group(%tiles, %alpha, %l, %m) group_kind = distinct "
            f": (!tlx.reuse_group<shared>, {scalars}) -> !tlx.reuse_group<distinct>"
        )
        yield (
            "%tree = tlx.reuse_group(%qk, %made) group_kind = shared "
            f": ({arrays['qk']}, !tlx.reuse_group<distinct>) -> !tlx.reuse_group<shared>"
        )
        yield f"tlx.set_buffer_overlap(%region, %tree) : ({spec}, !tlx.reuse_group<shared>) -> ()"
        yield f"%acc = ttng.tmem_alloc : () -> {arrays['acc']}"
        for barrier in BARRIERS:
            yield f"%{barrier} = ttg.local_alloc : () -> !bars"
            for index in range(GROUPS):
                yield self.pick(barrier, f"c{index}", f"{barrier}{index}")
                yield f"ttng.init_barrier %{barrier}{index}, 1 : !bar"

    def staging(self) -> Iterator[str]:
        """Keys, and what takes their place in the end."""
        spec, k = "!tlx.storage_alias_spec<smem>", self.arrays["k"]
        group = "!tlx.reuse_group<shared>"
        yield f"%ring = tlx.storage_alias_spec storage = smem : {spec}"
        yield f"%k = tlx.storage_alias_local_alloc %ring : {spec} -> {k}"
        yield f"%staged = tlx.storage_alias_local_alloc %ring : {spec} -> {self.staged}"
        yield (
            f"%stages = tlx.reuse_group(%k) group_kind = shared, group_size = {STAGES} "
            f": ({k}) -> {group}"
        )
        yield (
            "%ring_tree = tlx.reuse_group(%stages, %staged) group_kind = shared "
            f": ({group}, {self.staged}) -> {group}"
        )
        yield f"tlx.set_buffer_overlap(%ring, %ring_tree) : ({spec}, {group}) -> ()"

    def tasks(self) -> Iterator[str]:
        captured = {
            **self.arrays,
            **dict.fromkeys(BARRIERS, "!bars"),
            "q_desc": "!desc",
            "k_desc": "!desc",
            "v_desc": "!vdesc",
            "blocks": "i32",
            "scale": "f32",
        }
        arguments = ", ".join(f"%{name}: {type}" for name, type in captured.items())
        names = ", ".join(f"%{name}" for name in captured)
        yield (
            f"ttg.warp_specialize({names}) attributes "
            "{requestedRegisters = array<i32: 152, 152, 24, 24>}"
        )
        yield "default {"
        yield from indented([*self.correction(), "ttg.warp_yield"])
        yield "}"
        tasks = ((self.softmax(0), 4), (self.softmax(1), 4), (self.mma(), 1), (self.load(), 1))
        for number, (task, warps) in enumerate(tasks):
            yield f"partition{number}({arguments}) num_warps({warps}) {{"
            yield from indented([*task, "ttg.warp_return"])
            ending = f" : ({', '.join(captured.values())}) -> ()"
            yield "}" + (ending if number == len(tasks) - 1 else "")

    # -- barriers and buffers ------------------------------------------------------------------

    def pick(self, array: str, index: str, name: str) -> str:
        """One barrier, or one buffer, of an array."""
        type = self.arrays.get(array, "!bars")
        one = "!bar" if type == "!bars" else one_of(type)
        return f"%{name} = ttg.memdesc_index %{array}[%{index}] : {type} -> {one}"

    def wait(self, array: str, index: str, phase: str, name: str) -> list[str]:
        return [self.pick(array, index, name), f"ttng.wait_barrier %{name}, %{phase} : !bar"]

    def arrive(self, array: str, index: str, name: str) -> list[str]:
        return [self.pick(array, index, name), f"ttng.arrive_barrier %{name}, 1 : !bar"]

    # -- tasks ---------------------------------------------------------------------------------

    def load(self) -> list[str]:
        v, size = self.v, self.v.tile_bytes
        rows = [v.width * number for number in range(v.slices)]
        lines = [*constants(0, 1, 2, v.slices, ROWS, *rows), "%true = arith.constant true"]
        for group in range(GROUPS):
            lines += [
                self.pick("q", f"c{group}", f"q{group}"),
                self.pick("q_full", f"c{group}", f"qf{group}"),
                f"ttng.barrier_expect %qf{group}, {size}, %true : !bar",
                f"ttng.async_tma_copy_global_to_local %q_desc[%c{ROWS * group}, %c0] %q{group}, "
                f"%qf{group}, %true : !desc, !bar -> {one_of(self.arrays['q'])}",
            ]
        loop = [
            *STAGE,
            f"%start = arith.muli %j, %c{KEYS} : i32",
            *self.wait("k_empty", "stage", "before", "ke"),
            self.pick("k_full", "stage", "kf"),
            self.pick("k", "stage", "kt"),
            f"ttng.barrier_expect %kf, {size}, %true : !bar",
            "ttng.async_tma_copy_global_to_local %k_desc[%start, %c0] %kt, %kf, %true "
            f": !desc, !bar -> {one_of(self.arrays['k'])}",
            *self.wait("v_empty", "stage", "before", "ve"),
            self.pick("v_full", "stage", "vf"),
            f"ttng.barrier_expect %vf, {size}, %true : !bar",
            f"%first = arith.muli %stage, %c{v.slices} : i32",
        ]
        for number, row in enumerate(rows):
            loop += [
                f"%n{number} = arith.constant {number} : i32",
                f"%at{number} = arith.addi %first, %n{number} : i32",
                f"%row{number} = arith.addi %start, %c{row} : i32",
                self.pick("v", f"at{number}", f"vt{number}"),
                f"ttng.async_tma_copy_global_to_local %v_desc[%row{number}, %c0] %vt{number}, "
                f"%vf, %true : !vdesc, !bar -> {one_of(self.arrays['v'])}",
            ]
        return [*lines, *for_blocks(loop)]

    def mma(self) -> list[str]:
        v, types = self.v, {name: one_of(type) for name, type in self.arrays.items()}
        turned = f"!ttg.memdesc<{v.head_dim}x{KEYS}x{v.dtype}, #tile_t, #smem, mutable>"
        lines = [*constants(0, 1, 2, v.slices), "%true = arith.constant true"]
        lines += ["%false = arith.constant false"]
        for group in range(GROUPS):
            lines += self.wait("q_full", f"c{group}", "c0", f"qf{group}")
        loop = [
            *STAGE,
            *TURN,
            *self.wait("k_full", "stage", "phase", "kf"),
            self.pick("k", "stage", "kt"),
            "%kt_t = ttg.memdesc_trans %kt {order = array<i32: 1, 0>} : "
            f"{types['k']} -> {turned}",
            self.pick("k_empty", "stage", "ke"),
        ]
        for group in range(GROUPS):
            is_last = group == GROUPS - 1
            loop += [
                # The scores lie over P and alpha of the last turn, which must have been read.
                *self.wait("pv_done", f"c{group}", "last", f"pd{group}"),
                *self.wait("alpha_empty", f"c{group}", "last", f"ae{group}"),
                self.pick("q", f"c{group}", f"q{group}"),
                self.pick("qk", f"c{group}", f"s{group}"),
                self.pick("qk_full", f"c{group}", f"sf{group}"),
                f"ttng.tc_gen5_mma %q{group}, %kt_t, %s{group}, %false, %true, %sf{group}[%true]"
                f"{', %ke[%true]' if is_last else ''} {{is_async}} : {types['q']}, {turned}, "
                f"{types['qk']}, !bar{', !bar' if is_last else ''}",
            ]
        loop += [
            *self.wait("v_full", "stage", "phase", "vf"),
            self.pick("v_empty", "stage", "ve"),
            f"%first = arith.muli %stage, %c{v.slices} : i32",
        ]
        for group in range(GROUPS):
            loop += [
                *self.wait("acc_ready", f"c{group}", "turn", f"ar{group}"),
                *self.wait("p_full", f"c{group}", "turn", f"pf{group}"),
                self.pick("acc", f"c{group}", f"o{group}"),
                self.pick("pv_done", f"c{group}", f"done{group}"),
            ]
            for number in range(v.slices):
                name, told = f"{group}_{number}", list[str]()
                if number == v.slices - 1:
                    told = [f"done{group}", "ve"] if group == GROUPS - 1 else [f"done{group}"]
                loop += [
                    f"%pi{name} = arith.constant {group * v.slices + number} : i32",
                    f"%n{name} = arith.constant {number} : i32",
                    f"%vi{name} = arith.addi %first, %n{name} : i32",
                    self.pick("p", f"pi{name}", f"p{name}"),
                    self.pick("v", f"vi{name}", f"v{name}"),
                    f"ttng.tc_gen5_mma %p{name}, %v{name}, %o{group}, %true, %true"
                    f"{''.join(f', %{bar}[%true]' for bar in told)} {{is_async}} : {types['p']}, "
                    f"{types['v']}, {types['acc']}{', !bar' * len(told)}",
                ]
        return [*lines, *for_blocks(loop)]

    def softmax(self, group: int) -> list[str]:
        v, row, part = self.v, self.row, tile(self.v.width)
        scores = one_of(self.arrays["qk"])
        view = scores.replace("<128x128", f"<128x{v.width}").replace("mutable", "mutable, 128x128")
        lines = [
            *constants(0, 1, 2),
            "%true = arith.constant true",
            f"%zero = arith.constant dense<0.000000e+00> : {row}",
            f"%low = arith.constant dense<0xFF800000> : {row}",
            f"%factor = tt.splat %scale : f32 -> {part}",
        ]
        loop = [
            *TURN,
            *self.wait("qk_full", f"c{group}", "turn", "sf"),
            self.pick("qk", f"c{group}", "s"),
        ]
        peak = "m_old"
        for n in range(v.slices):
            loop += [
                f"%s{n} = ttng.tmem_subslice %s {{offset = {n * v.width} : i32}} "
                f": {scores} -> {view}",
                f"%raw{n} = ttng.tmem_load %s{n} : {view} -> {part}",
                f"%x{n} = arith.mulf %raw{n}, %factor : {part}",
                *reduced(f"top{n}", f"x{n}", "arith.maxnumf", v.width, row),
                f"%peak{n} = arith.maxnumf %{peak}, %top{n} : {row}",
            ]
            peak = f"peak{n}"
        loop += [
            f"%gap = arith.subf %m_old, %{peak} : {row}",
            f"%decay = math.exp2 %gap : {row}",
            *self.store_column("alpha", group, "decay"),
            *self.arrive("alpha_full", f"c{group}", "af"),
            f"%peak_e = tt.expand_dims %{peak} {{axis = 1 : i32}} : {row} "
            f"-> tensor<128x1xf32, #row{v.width}>",
            f"%peak_b = tt.broadcast %peak_e : tensor<128x1xf32, #row{v.width}> -> {part}",
            f"%sum = arith.mulf %l_old, %decay : {row}",
        ]
        total = "sum"
        for n in range(v.slices):
            loop += [
                f"%y{n} = arith.subf %x{n}, %peak_b : {part}",
                f"%w{n} = math.exp2 %y{n} : {part}",
                *reduced(f"part{n}", f"w{n}", "arith.addf", v.width, row),
                f"%sum{n} = arith.addf %{total}, %part{n} : {row}",
                f"%t{n} = {self.narrowed(f'w{n}')}",
                f"%pi{n} = arith.constant {group * v.slices + n} : i32",
                self.pick("p", f"pi{n}", f"p{n}"),
                f"ttng.tmem_store %t{n}, %p{n}, %true : {tile(v.width, v.dtype)} "
                f"-> {one_of(self.arrays['p'])}",
            ]
            total = f"sum{n}"
        loop += self.arrive("p_full", f"c{group}", "pf")
        carried = [("m_old", "low", peak, row), ("l_old", "zero", total, row)]
        return [
            *lines,
            *for_blocks(loop, carried),
            *self.store_column("m", group, "state#0"),
            *self.store_column("l", group, "state#1"),
            *self.arrive("lm_full", f"c{group}", "lm"),
        ]

    def narrowed(self, source: str) -> str:
        wide, small = tile(self.v.width), tile(self.v.width, self.v.dtype)
        if self.v.dtype == "bf16":
            return f"arith.truncf %{source} : {wide} to {small}"
        return f"tt.fp_to_fp %{source}, rounding = rtne : {wide} -> {small}"

    def store_column(self, array: str, group: int, source: str) -> list[str]:
        wide = f"tensor<128x1xf32, #row{self.v.width}>"
        return [
            f"%{array}_e = tt.expand_dims %{source} {{axis = 1 : i32}} : {self.row} -> {wide}",
            f"%{array}_c = ttg.convert_layout %{array}_e : {wide} -> {tile(1)}",
            self.pick(array, f"c{group}", f"{array}_t"),
            f"ttng.tmem_store %{array}_c, %{array}_t, %true : {tile(1)} "
            f"-> {one_of(self.arrays[array])}",
        ]

    def load_column(self, array: str, group: int) -> list[str]:
        """A single column, repeated over the width of the accumulator."""
        wide, name = self.v.head_dim, f"{array}{group}"
        column = f"tensor<128x1xf32, #row{wide}>"
        return [
            self.pick(array, f"c{group}", f"{name}_t"),
            f"%{name}_c = ttng.tmem_load %{name}_t : {one_of(self.arrays[array])} -> {tile(1)}",
            f"%{name}_w = ttg.convert_layout %{name}_c : {tile(1)} -> {column}",
            f"%{name} = tt.broadcast %{name}_w : {column} -> {tile(wide)}",
        ]

    def correction(self) -> list[str]:
        acc, wide = one_of(self.arrays["acc"]), tile(self.v.head_dim)
        lines = [*constants(2, ROWS), "%true = arith.constant true"]
        lines += [f"%none = arith.constant dense<0.000000e+00> : {wide}"]
        loop = list(TURN)
        for group in range(GROUPS):
            lines += [
                self.pick("acc", f"c{group}", f"start{group}"),
                f"ttng.tmem_store %none, %start{group}, %true : {wide} -> {acc}",
            ]
            loop += [
                *self.wait("alpha_full", f"c{group}", "turn", f"af{group}"),
                *self.load_column("alpha", group),
                *self.arrive("alpha_empty", f"c{group}", f"ae{group}"),
                *self.wait("pv_done", f"c{group}", "last", f"pd{group}"),
                self.pick("acc", f"c{group}", f"o{group}"),
                f"%old{group} = ttng.tmem_load %o{group} : {acc} -> {wide}",
                f"%new{group} = arith.mulf %old{group}, %alpha{group} : {wide}",
                f"ttng.tmem_store %new{group}, %o{group}, %true : {wide} -> {acc}",
                *self.arrive("acc_ready", f"c{group}", f"ar{group}"),
            ]
        lines += for_blocks(loop)
        staged = one_of(self.staged)
        lines += [
            "%blocks_1 = arith.subi %blocks, %c1 : i32",
            "%end = arith.remui %blocks_1, %c2 : i32",
            f"%place = ttg.memdesc_index %staged[%c0] : {self.staged} -> {staged}",
        ]
        for group in range(GROUPS):
            lines += [
                *self.wait("pv_done", f"c{group}", "end", f"fin{group}"),
                *self.wait("lm_full", f"c{group}", "c0", f"lm{group}"),
                *self.load_column("l", group),
                self.pick("acc", f"c{group}", f"sum{group}"),
                f"%sums{group} = ttng.tmem_load %sum{group} : {acc} -> {wide}",
                f"%result{group} = arith.divf %sums{group}, %l{group} : {wide}",
                f"ttg.local_store %result{group}, %place : {wide} -> {staged}",
                "ttng.fence_async_shared {bCluster = false}",
                f"ttng.async_tma_copy_local_to_global %out[%c{ROWS * group}, %c0] %place "
                f": !odesc, {staged}",
                "ttng.async_tma_store_wait {pendings = 0 : i32}",
            ]
        return lines


def main() -> None:
    for variant in VARIANTS:
        path = Path(__file__).parent / f"{variant.name}.mlir"
        path.write_text(Kernel(variant).text(), encoding="utf-8")


if __name__ == "__main__":
    main()
