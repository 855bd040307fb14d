"""IR made ready: calls inlined, then aliases placed and the rest cleaned up; on copies.

Storage aliasing is lowered with ``placement=explicit``: buffers keep the names and indices that
they have in the source, and reports use those.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import SSAValue

from tilewright.dialects.tlx import PlacedAliasOp
from tilewright.dialects.tt.functions import CallOp, FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine, SourceManager
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import ancestors, walk
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.cleanup.cse import eliminate_common_subexpressions
from tilewright.passes.cleanup.dce import eliminate_dead_code
from tilewright.passes.tlx.rewrite_local_alias import RewriteLocalAlias
from tilewright.passes.tlx.storage_alias.define_overlaps import named_phases
from tilewright.passes.tlx.storage_alias_lowering import StorageAliasLowering

_INDEX = "tilewright.number"


def inlined(module: ModuleOp) -> ModuleOp:
    """`module`, or a copy of it in which calls are inlined."""
    if not any(_calls(module)):
        return module
    module = module.clone()
    inline_calls(module)
    return module


def prepare(module: ModuleOp, sources: SourceManager | None = None) -> ModuleOp:
    """A copy of `module`, whose calls are inlined, that can be written as tasks."""
    module = module.clone()
    engine = DiagnosticEngine(sources=sources)
    phases = named_phases(module)
    aliases = StorageAliasLowering(placement="explicit", multi_overlap=phases, record=False)
    aliases.run(module, engine)
    engine.raise_if_errors()
    RewriteLocalAlias().run(module, engine)
    engine.raise_if_errors()
    keep_apart(module)
    rewriter = Rewriter()
    canonicalize(module)
    eliminate_common_subexpressions(module, rewriter)
    eliminate_dead_code(module, rewriter)
    return module


def keep_apart(module: ModuleOp) -> None:
    """Number the buffers of storage aliases: two of one type in the same bytes are still two."""
    aliases = (op for op in walk(module) if isinstance(op, PlacedAliasOp))
    for index, op in enumerate(aliases):
        op.attributes[_INDEX] = IntegerAttr(index, i32)


def inline_calls(module: ModuleOp) -> None:
    """Put the bodies of called functions of one block in place of the calls.

    What is allocated in a function is allocated once for every call, as on a GPU. Functions of
    several blocks, which can only compute, stay calls.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    changed = True
    while changed:
        changed = False
        for call in list(_calls(module)):
            callee = functions.get(call.callee.root_reference.data)
            if callee is None or callee.is_declaration or len(callee.body.blocks) != 1:
                continue
            if any(op is callee for op in ancestors(call)):
                continue
            _inline(call, callee)
            changed = True


def _calls(module: ModuleOp) -> Iterator[CallOp]:
    return (op for op in walk(module) if isinstance(op, CallOp))


def _inline(call: CallOp, callee: FuncOp) -> None:
    block = callee.body.blocks[0]
    mapped: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands, strict=True))
    end = block.last_op
    assert end is not None
    made = [op.clone(value_mapper=mapped) for op in block.ops if op is not end]
    returned = [mapped.get(value, value) for value in end.operands]
    Rewriter().replace_op(call, made, returned)
