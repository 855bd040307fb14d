"""What an op of TTGIR is called in `tl` and `tlx`: a table from names of ops to text.

    ttng.wait_barrier %b, %p        tlx.barrier_wait(b, p)
    arith.addi %x, %y               x + y

Layouts, tokens and types of results have no text. An op that is not here prints under its own name
(``ttng_some_op(x)``), so that it cannot be mistaken for a function of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith import CMPF_PREDICATES, CMPI_PREDICATES
from tilewright.dialects.tt.enums import DESCRIPTOR_REDUCE_KIND
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng import TensorMemorySpace
from tilewright.dialects.ttng.checks import TWO_CTAS, module_attribute
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.text.literals import SplatElementsAttr

Name = Callable[[SSAValue], str]
Rule = Callable[[Any, Name], str]
"""From an op and the text of values to the text of the op."""

BARRIER_LIFE = ("ttng.init_barrier", "ttng.inval_barrier")
"""What ``tlx.alloc_barriers`` stands for."""

_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8E4M3FN": "float8e4nv",
    "f8E5M2": "float8e5",
    "f8E8M0FNU": "uint8",
    **{f"i{bits}": f"int{bits}" for bits in (1, 8, 16, 32, 64)},
}


def dtype_text(type: Attribute) -> str:
    """``tl.float16`` for an element type."""
    text = str(type)
    return f"tl.{_DTYPES[text]}" if text in _DTYPES else repr(text)


def constant_text(value: Attribute) -> str:
    """A number, or a tensor of one number."""
    if isinstance(value, IntegerAttr):
        is_flag = str(value.type) == "i1"
        return str(bool(value.value.data)) if is_flag else str(value.value.data)
    if isinstance(value, FloatAttr):
        scalar = value.value.data
        return repr(scalar) if abs(scalar) < float("inf") else f"float('{scalar}')"
    if isinstance(value, SplatElementsAttr):
        shape, element = shape_of(value.type), element_type_of(value.type)
        return f"tl.full({_listed(shape)}, {constant_text(value.value)}, {dtype_text(element)})"
    return repr(str(value))


def expression(op: Operation, name: Name) -> str:
    """The text of an op without its result."""
    rule = _RULES.get(op.name)
    if rule is not None:
        return rule(op, name)
    return _call(op.name.replace(".", "_"), map(name, op.operands))


def is_barriers(type: Attribute) -> bool:
    """Whether a buffer holds barriers: words of 64 bits, one a row."""
    return (
        isinstance(type, MemDescType)
        and str(type.element_type) == "i64"
        and type.shape[-1] == 1
        and type.rank <= 2
    )


def _call(function: str, arguments: Any) -> str:
    return f"{function}({', '.join(arguments)})"


def _listed(items: Any) -> str:
    return f"[{', '.join(map(str, items))}]"


def _named(function: str) -> Rule:
    """The operands in their order."""
    return lambda op, name: _call(function, map(name, op.operands))


def _infix(operator: str) -> Rule:
    return lambda op, name: f"{name(op.operands[0])} {operator} {name(op.operands[1])}"


def _compared(predicates: Mapping[str, int]) -> Rule:
    signs = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    by_value = {value: keyword for keyword, value in predicates.items()}

    def rule(op: Any, name: Name) -> str:
        keyword = by_value[op.predicate.value.data]
        sign = signs.get(keyword) or signs.get(keyword[1:], keyword)
        return f"{name(op.operands[0])} {sign} {name(op.operands[1])}"

    return rule


def _converted(op: Operation, name: Name) -> str:
    return f"{name(op.operands[0])}.to({dtype_text(element_type_of(op.results[0].type))})"


def _predicate(value: SSAValue | None, name: Name) -> list[str]:
    """``pred=``, where it is not always true."""
    text = "True" if value is None else name(value)
    return [] if text == "True" else [f"pred={text}"]


def _pair_flag(op: Operation) -> list[str]:
    """``two_ctas=True`` in kernels whose CTAs work in pairs."""
    flag = module_attribute(op, TWO_CTAS)
    is_pair = isinstance(flag, UnitAttr) or (isinstance(flag, IntegerAttr) and flag.value.data != 0)
    return ["two_ctas=True"] if is_pair else []


def _alloc(op: Any, name: Name) -> str:
    type = op.results[0].type
    assert isinstance(type, MemDescType)
    if is_barriers(type):
        return f"tlx.alloc_barriers({type.shape[0]})"
    is_single = type.rank < 3
    count, shape = (1, type.shape) if is_single else (type.shape[0], type.shape[1:])
    extents = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    where = ["tlx.storage_kind.tmem"] if isinstance(type.memory_space, TensorMemorySpace) else []
    arguments = [extents, dtype_text(type.element_type), str(count), *where]
    return _call("tlx.local_alloc", arguments)


def _reinterpreted(op: Any, name: Name) -> str:
    type = op.results[0].type
    arguments = [name(op.src), dtype_text(type.element_type), _listed(type.shape)]
    return _call("tlx.local_reinterpret", arguments)


def _wait(op: Any, name: Name) -> str:
    given = [name(op.alloc), name(op.phase), *_predicate(op.pred, name)]
    return _call("tlx.barrier_wait", given)


def _arrive(op: Any, name: Name) -> str:
    count = str(op.count.value.data)
    return _call("tlx.barrier_arrive", [name(op.alloc), count, *_predicate(op.pred, name)])


def _expect(op: Any, name: Name) -> str:
    size = str(op.properties["size"].value.data)
    return _call("tlx.barrier_expect_bytes", [name(op.alloc), size, *_predicate(op.pred, name)])


def _mma(op: Any, name: Name) -> str:
    pairs = zip(op.barriers, op.barrier_preds, strict=True)
    signalled = [
        name(barrier) if name(pred) == "True" else f"({name(barrier)} if {name(pred)} else None)"
        for barrier, pred in pairs
    ]
    given = [name(op.a), name(op.b), name(op.d), f"use_acc={name(op.use_d)}"]
    given += [f"pred={name(op.pred)}", f"mBarriers={_listed(signalled)}", *_pair_flag(op)]
    if op.is_async is not None:
        given.append("force_async=True")
    return _call("tlx.async_dot", given)


def _commit(op: Any, name: Name) -> str:
    given = [name(op.barrier), *_predicate(op.pred, name), *_pair_flag(op)]
    return _call("tlx.tcgen05_commit", given)


def _load_tile(op: Any, name: Name) -> str:
    given = [name(op.desc), name(op.result), _listed(map(name, op.coord)), name(op.barrier)]
    return _call("tlx.async_descriptor_load", given + _predicate(op.pred, name) + _pair_flag(op))


def _store_tile(op: Any, name: Name) -> str:
    given = [name(op.desc), name(op.src), _listed(map(name, op.coord))]
    if op.name == "ttng.async_tma_reduce":
        given.append(f'store_reduce="{DESCRIPTOR_REDUCE_KIND.keyword(op.kind)}"')
    return _call("tlx.async_descriptor_store", given)


def _wait_for_stores(op: Any, name: Name) -> str:
    del name
    planned = op.properties.get("pendings") or op.attributes.get("planned_pending_count")
    pending = planned.value.data if isinstance(planned, IntegerAttr) else 0
    return f"tlx.async_descriptor_store_wait({pending})"


def _copied_remotely(op: Any, name: Name) -> str:
    given = [name(op.src), name(op.dst), name(op.cta_rank), name(op.barrier)]
    return _call("tlx.async_remote_shmem_copy", given)


def _described(op: Any, name: Name) -> str:
    sizes, strides = map(name, op.global_dim), map(name, op.global_stride)
    given = [name(op.desc_ptr), name(op.global_address), _listed(sizes), _listed(strides)]
    return _call("tlx.make_tensor_descriptor", [*given, _listed(map(name, op.box_dim))])


def _combined(op: Any, name: Name) -> str:
    """A reduction or scan, by what its body does."""
    body: Sequence[Operation] = list(op.regions[0].block.ops)
    kinds = {"arith.addf": "tl.sum", "arith.addi": "tl.sum"}
    kinds |= {f"arith.{each}": "tl.max" for each in ("maxnumf", "maximumf", "maxsi", "maxui")}
    kinds |= {f"arith.{each}": "tl.min" for each in ("minnumf", "minimumf", "minsi", "minui")}
    function = kinds.get(body[0].name) if len(body) == 2 and op.name == "tt.reduce" else None
    axis = f"axis={op.properties['axis'].value.data}"
    if function is None:
        function = op.name.replace("tt.", "tl.")
        axis = f"{axis}, combine_fn={'+'.join(each.name for each in body[:-1])!r}"
    return _call(function, [*map(name, op.operands), axis])


def _with_axis(function: str, key: str = "axis", label: str = "axis") -> Rule:
    def rule(op: Any, name: Name) -> str:
        axis = op.properties[key].value.data
        return _call(function, [*map(name, op.operands), f"{label}={axis}"])

    return rule


def _shaped(function: str) -> Rule:
    def rule(op: Any, name: Name) -> str:
        shape = _listed(shape_of(op.results[0].type))
        return _call(function, [name(op.operands[0]), shape])

    return rule


def _ordered(function: str) -> Rule:
    def rule(op: Any, name: Name) -> str:
        return _call(function, [name(op.operands[0]), _listed(integers(op.order))])

    return rule


def _loaded(op: Any, name: Name) -> str:
    given = [name(op.ptr)]
    for label, value in (("mask", op.mask), ("other", getattr(op, "other", None))):
        given += [] if value is None else [f"{label}={name(value)}"]
    return _call("tl.load", given)


def _stored(op: Any, name: Name) -> str:
    mask = [] if op.mask is None else [f"mask={name(op.mask)}"]
    return _call("tl.store", [name(op.ptr), name(op.value), *mask])


def _range(op: Any, name: Name) -> str:
    del name
    return f"tl.arange({op.start.value.data}, {op.end.value.data})"


_INFIX = {
    "+": "arith.addi arith.addf tt.addptr",
    "-": "arith.subi arith.subf",
    "*": "arith.muli arith.mulf",
    "/": "arith.divf",
    "//": "arith.divsi arith.divui arith.floordivsi",
    "%": "arith.remsi arith.remui arith.remf",
    "&": "arith.andi",
    "|": "arith.ori",
    "^": "arith.xori",
    "<<": "arith.shli",
    ">>": "arith.shrsi arith.shrui",
}
_CONVERSIONS = (
    "extsi extui trunci extf truncf sitofp uitofp fptosi fptoui index_cast index_castui bitcast"
)
_MATH = {
    **dict.fromkeys(("absf", "absi"), "tl.math.abs"),
    **{name: f"tl.math.{name}" for name in ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt")},
    **{name: f"tl.math.{name}" for name in ("rsqrt", "erf", "fma", "floor", "ceil")},
}

_RULES: Mapping[str, Rule] = {
    **{op: _infix(sign) for sign, ops in _INFIX.items() for op in ops.split()},
    **{f"arith.{each}": _converted for each in _CONVERSIONS.split()},
    **{f"math.{each}": _named(function) for each, function in _MATH.items()},
    **{f"arith.max{each}": _named("tl.maximum") for each in ("numf", "imumf", "si", "ui")},
    **{f"arith.min{each}": _named("tl.minimum") for each in ("numf", "imumf", "si", "ui")},
    "arith.cmpi": _compared(CMPI_PREDICATES),
    "arith.cmpf": _compared(CMPF_PREDICATES),
    "arith.select": _named("tl.where"),
    "arith.negf": lambda op, name: f"-{name(op.operands[0])}",
    "arith.ceildivsi": _named("tl.cdiv"),
    "arith.ceildivui": _named("tl.cdiv"),
    "tt.fp_to_fp": _converted,
    "tt.get_program_id": _with_axis("tl.program_id"),
    "tt.get_num_programs": _with_axis("tl.num_programs"),
    "tt.expand_dims": _with_axis("tl.expand_dims"),
    "tt.make_range": _range,
    "tt.broadcast": _shaped("tl.broadcast_to"),
    "tt.reshape": _shaped("tl.reshape"),
    "tt.trans": _ordered("tl.trans"),
    "tt.join": _named("tl.join"),
    "tt.split": _named("tl.split"),
    "tt.cat": _named("tl.cat"),
    "tt.dot": _named("tl.dot"),
    "tt.load": _loaded,
    "tt.store": _stored,
    "tt.reduce": _combined,
    "tt.scan": _combined,
    "tt.precise_sqrt": _named("tl.math.sqrt_rn"),
    "tt.make_tensor_descriptor": _named("tl.make_tensor_descriptor"),
    "ttg.local_alloc": _alloc,
    "ttng.tmem_alloc": _alloc,
    "ttg.memdesc_index": _named("tlx.local_view"),
    "ttg.memdesc_subslice": lambda op, name: _call(
        "tlx.local_slice",
        [name(op.src), _listed(integers(op.offsets)), _listed(op.result.type.shape)],
    ),
    "ttg.memdesc_trans": _ordered("tlx.local_trans"),
    "ttg.memdesc_reinterpret": _reinterpreted,
    "ttg.local_load": lambda op, name: f"tlx.local_load({name(op.src)})",
    "ttg.local_store": lambda op, name: f"tlx.local_store({name(op.dst)}, {name(op.src)})",
    "ttng.tmem_load": lambda op, name: f"tlx.local_load({name(op.src)})",
    "ttng.tmem_store": lambda op, name: _call(
        "tlx.local_store", [name(op.dst), name(op.src), *_predicate(op.pred, name)]
    ),
    "ttng.tmem_copy": lambda op, name: f"tlx.tmem_copy({name(op.src)}, {name(op.dst)})",
    "ttng.tmem_subslice": lambda op, name: _call(
        "tlx.subslice",
        [name(op.src), str(op.offset.value.data), str(op.result.type.shape[op.dim.value.data])],
    ),
    "ttg.async_copy_global_to_local": _named("tlx.async_load"),
    "ttg.async_commit_group": lambda op, name: "tlx.async_load_commit_group()",
    "ttg.async_wait": lambda op, name: f"tlx.async_load_wait_group({op.num.value.data})",
    "ttg.async_remote_shmem_copy": _copied_remotely,
    "ttng.wait_barrier": _wait,
    "ttng.arrive_barrier": _arrive,
    "ttng.barrier_expect": _expect,
    "ttng.wait_barrier_named": _named("tlx.named_barrier_wait"),
    "ttng.arrive_barrier_named": _named("tlx.named_barrier_arrive"),
    "ttng.tc_gen5_mma": _mma,
    "ttng.tc_gen5_commit": _commit,
    "ttng.warp_group_dot": lambda op, name: (
        f"tlx.async_dot({name(op.a)}, {name(op.b)}, {name(op.c)})"
    ),
    "ttng.warp_group_dot_wait": lambda op, name: _call(
        "tlx.async_dot_wait", [str(op.pendings.value.data), *map(name, op.operands)]
    ),
    "ttng.async_tma_copy_global_to_local": _load_tile,
    "ttng.async_tma_copy_local_to_global": _store_tile,
    "ttng.async_tma_reduce": _store_tile,
    "ttng.async_tma_store_wait": _wait_for_stores,
    "ttng.async_tma_store_token_wait": _wait_for_stores,
    "ttng.fence_async_shared": lambda op, name: 'tlx.fence("async_shared")',
    "ttng.tensormap_create": _described,
    "ttng.reinterpret_tensor_descriptor": lambda op, name: _call(
        "tlx.reinterpret_tensor_descriptor", [name(op.raw_desc)]
    ),
    "ttg.global_scratch_alloc": lambda op, name: "tlx.allocate_tensor_descriptor(1)",
}
