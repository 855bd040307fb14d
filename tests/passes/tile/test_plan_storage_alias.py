"""Reuse groups mean the same bytes at the tile level as in ``tlx``, and buffers really share them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.pass_support import apply, parse
from tilewright import T
from tilewright.dialects.tile import AllocOp
from tilewright.dialects.tlx import PlacedAliasOp
from tilewright.ir.traversal import walk
from tilewright.memory import Group, Leaf, ReuseKind, Tree, smem_buffer
from tilewright.memory.units import Swizzled
from tilewright.targets.numpy import Buffer, NumpyFault
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module

ELEMENTS = {"f32": 32, "f16": 16, "i8": 8}


def random_tree(rng: random.Random, buffers: list[tuple[str, int, str]]) -> Tree:
    """A tree over all of `buffers`, in random groups."""
    if len(buffers) == 1:
        name, size, element = buffers[0]
        return Leaf(smem_buffer(name, (1, size), ELEMENTS[element], Swizzled()))
    parts = rng.randint(2, min(3, len(buffers)))
    cuts = sorted(rng.sample(range(1, len(buffers)), parts - 1))
    pieces = [buffers[a:b] for a, b in zip([0, *cuts], [*cuts, len(buffers)], strict=True)]
    kind = rng.choice(list(ReuseKind))
    return Group(kind, tuple(random_tree(rng, piece) for piece in pieces))


class _Text:
    """A tree as ops of one of the two languages."""

    def __init__(self, types: dict[str, str], group: str, group_type: str) -> None:
        self.types, self.group, self.group_type = types, group, group_type
        self.lines: list[str] = []

    def of(self, tree: Tree) -> tuple[str, str]:
        if isinstance(tree, Leaf):
            return f"%{tree.buffer.name}", self.types[tree.buffer.name]
        children = [self.of(child) for child in tree.children]
        name, type = f"%g{len(self.lines)}", self.group_type.format(kind=tree.kind)
        values, types = (", ".join(each) for each in zip(*children, strict=True))
        self.lines.append(
            f"{name} = " + self.group.format(kind=tree.kind, values=values, types=types, type=type)
        )
        return name, type


def tile_text(buffers: list[tuple[str, int, str]], tree: Tree) -> str:
    types = {n: f"memref<{s}x{e}, #tile.space<shared>>" for n, s, e in buffers}
    text = _Text(
        types,
        "tile.reuse_group {kind}({values}) : ({types}) -> {type}",
        "!tile.reuse_group<{kind}>",
    )
    root, type = text.of(tree)
    spec = "!tile.storage_alias_spec<shared>"
    allocs = [f'%{n} = tile.alloc "{n}" alias %spec : {types[n]}' for n, _, _ in buffers]
    lines = [f"%spec = tile.storage_alias_spec shared : {spec}", *allocs, *text.lines]
    lines.append(f"tile.set_buffer_overlap %spec, {root} : {spec}, {type}")
    body = "\n".join(lines)
    return f"func.func @f() {{ tile.kernel (%b) in (1) threads(32) {{ {body} }} func.return }}"


def tlx_text(buffers: list[tuple[str, int, str]], tree: Tree) -> str:
    layout = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
    types = {
        n: f"!ttg.memdesc<1x{s}x{e}, {layout}, #ttg.shared_memory, mutable>" for n, s, e in buffers
    }
    group = "tlx.reuse_group({values}) group_kind = {kind} : ({types}) -> {type}"
    text = _Text(types, group, "!tlx.reuse_group<{kind}>")
    root, type = text.of(tree)
    spec = "!tlx.storage_alias_spec<smem>"
    lines = [f"%spec = tlx.storage_alias_spec storage = smem : {spec}"]
    for name, _, _ in buffers:
        alloc = f"tlx.storage_alias_local_alloc %spec : {spec} -> {types[name]}"
        lines.append(f"%{name} = {alloc}")
    lines += text.lines
    lines.append(f"tlx.set_buffer_overlap(%spec, {root}) : ({spec}, {type}) -> ()")
    body = "\n".join(lines)
    return f"module {{ tt.func @f() {{ {body}\n tt.return }} }}"


def tlx_offsets(text: str) -> dict[str, int]:
    from tilewright.ir.diagnostics import DiagnosticEngine
    from tilewright.passes.tlx.storage_alias_lowering import StorageAliasLowering

    module, engine = parse(text), DiagnosticEngine()
    StorageAliasLowering(placement="explicit").run(module, engine)
    engine.raise_if_errors()
    return {
        str(op.result.name_hint): op.offset.value.data
        for op in walk(module)
        if isinstance(op, PlacedAliasOp)
    }


def tile_offsets(module: ModuleOp) -> dict[str, int | None]:
    return {op.buffer_name: op.offset_bytes for op in walk(module) if isinstance(op, AllocOp)}


@pytest.mark.parametrize("seed", range(40))
def test_the_same_tree_means_the_same_bytes_as_in_tlx(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 6)
    buffers = [
        (f"b{n}", rng.choice((16, 32, 64, 256, 1024)), rng.choice(list(ELEMENTS)))
        for n in range(count)
    ]
    tree = random_tree(rng, buffers)
    found = tile_offsets(apply(parse(tile_text(buffers, tree)), "plan-storage-alias"))
    assert found == tlx_offsets(tlx_text(buffers, tree))


@T.prim_func
def sharing(QK: T.Tensor((8, 8), "float32"), P: T.Tensor((8, 8), "float16")):
    with T.Kernel(1, threads=32):
        spec = T.storage_alias_spec()
        qk = T.alloc_shared((8, 8), "float32", reuse=spec)
        p = T.alloc_shared((8, 8), "float16", reuse=spec)
        T.set_buffer_overlap(spec, T.reuse_group(qk, p))
        T.fill(qk, 1)
        T.fill(p, 3)
        T.copy(p, P)
        T.copy(qk, QK)


def run(module: ModuleOp, *, checked: bool) -> tuple[np.ndarray, np.ndarray]:
    qk, p = np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float16)
    arguments = [Buffer("QK", qk), Buffer("P", p)]
    compile_tile_module(module).launch(
        arguments, TileOptions(checked=checked, check_uninitialised=checked)
    )
    return qk, p


def planned() -> ModuleOp:
    return apply(sharing.module.clone(), "plan-storage-alias")


def test_writing_p_overwrites_qk() -> None:
    qk, p = run(planned(), checked=False)
    assert (p == 3).all()
    threes = np.full(64, 3, np.float16).view(np.float32)
    assert np.array_equal(qk.reshape(-1)[:32], threes)
    assert (qk.reshape(-1)[32:] == 1).all()


def test_reading_what_another_buffer_overwrote_is_reported() -> None:
    with pytest.raises(NumpyFault, match="qk"):
        run(planned(), checked=True)


def test_without_a_plan_nothing_is_shared() -> None:
    qk, p = run(sharing.module.clone(), checked=False)
    assert (p == 3).all()
    assert (qk == 1).all()
