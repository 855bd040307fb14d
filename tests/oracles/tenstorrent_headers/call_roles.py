"""What each argument of a device call is: a check on the text of emitted kernels.

The headers accept any integer for an index, a size, an offset or an address. Here every argument
has a role, and what an expression is follows from the calls it comes from:

    get_write_ptr(cb)       an L1 address          cb_push_back(cb, pages)
    get_tile_size(cb)       bytes                  noc_async_write_page(page, accessor, l1[, size])
    tt::CBIndex::c_0        a circular buffer      pack_tile(dst, cb)

A size has to be bytes, so that an offset or a count passed for it is found. A call that is not in
the table is an error: kernels that Tilewright emits use nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tests.oracles.tenstorrent_headers.signatures import enclosed, split_arguments

_COUNTED = frozenset({"integer", "word"})
ACCEPTED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "cb": frozenset({"cb", "literal"}),
        "pages": _COUNTED | {"literal"},
        "page": _COUNTED | {"literal"},
        "index": _COUNTED | {"literal"},
        "dst": _COUNTED | {"literal"},
        "count": _COUNTED | {"literal"},
        "value": _COUNTED | {"literal"},
        "flag": _COUNTED | {"literal"},
        "coordinate": _COUNTED,
        "bits": _COUNTED | {"literal"},
        "float": frozenset({"literal", "float", "integer", "word"}),
        "bank": _COUNTED | {"literal"},
        "l1": frozenset({"l1", "word"}),
        "address": frozenset({"word", "l1"}),
        "size": frozenset({"bytes"}),
        "offset": frozenset({"bytes", "literal"}),
        "noc": frozenset({"noc"}),
        "rectangle": frozenset({"rectangle"}),
        "accessor": frozenset({"accessor"}),
        "accessor_args": frozenset({"accessor_args"}),
        "pointer": frozenset({"pointer"}),
        "id": frozenset({"literal", "integer", "word"}),
    }
)
"""Kinds of expression that may stand for a role."""

_UNARY = (
    *("exp", "exp2", "log", "recip", "sqrt", "rsqrt", "relu", "gelu", "sigmoid", "silu", "tanh"),
    *("square", "abs", "negative", "sign", "expm1", "erf", "erfc", "log1p"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "softsign"),
)
_SCALAR = ("add_unary", "sub_unary", "mul_unary", "div_unary", "rsub_unary")
_SCALAR_WITH_INIT = ("unary_max", "unary_min")
_BINARY = (
    *("add_binary", "sub_binary", "mul_binary", "div_binary", "rsub_binary", "power_binary"),
    *("eq_binary", "ne_binary", "lt_binary", "gt_binary", "le_binary", "ge_binary"),
    *("binary_max", "binary_min", "binary_max_int32", "binary_min_int32"),
    *("add_int", "sub_int", "mul_int", "div_int32_trunc", "div_int32_floor"),
    *("eq_int", "ne_int", "lt_int", "gt_int", "le_int", "ge_int"),
)
_ROUNDING = ("floor", "ceil", "trunc")


def _table() -> dict[str, tuple[str, ...]]:
    """Roles by name; a role that ends in '?' may be left out."""
    cb_tiles = ("cb", "cb", "index", "index", "dst")
    rows = {
        "get_arg_val": "id",
        "get_common_arg_val": "id",
        "get_compile_time_arg_val": "id",
        "TensorAccessor": "accessor_args address size?",
        "cb_reserve_back": "cb pages",
        "cb_push_back": "cb pages",
        "cb_wait_front": "cb pages",
        "cb_pop_front": "cb pages",
        "get_write_ptr": "cb",
        "get_read_ptr": "cb",
        "get_tile_size": "cb",
        "noc_async_read_page": "page accessor l1 offset?",
        "noc_async_write_page": "page accessor l1 size? offset?",
        "noc_async_read_tile": "page accessor l1 offset?",
        "noc_async_write_tile": "page accessor l1",
        "noc_async_read": "noc l1 size",
        "noc_async_write": "l1 noc size",
        "noc_async_read_barrier": "",
        "noc_async_write_barrier": "",
        "noc_async_writes_flushed": "",
        "noc_async_atomic_barrier": "",
        "get_noc_addr_from_bank_id": "bank address",
        "get_noc_multicast_addr": "coordinate coordinate coordinate coordinate l1",
        "noc_async_write_multicast": "l1 rectangle size count",
        "noc_async_write_multicast_loopback_src": "l1 rectangle size count",
        "get_semaphore": "id",
        "noc_semaphore_set": "pointer value",
        "noc_semaphore_inc": "noc value",
        "noc_semaphore_wait": "pointer value",
        "noc_semaphore_wait_min": "pointer value",
        "noc_semaphore_set_multicast": "l1 rectangle count",
        "fp32_to_bf16_truncate": "float",
        "compute_kernel_hw_startup": "cb cb cb?",
        "init_sfpu": "cb cb",
        "matmul_init": "cb cb flag?",
        "matmul_block_init": "cb cb flag? count? count? count?",
        "matmul_block": "cb cb index index dst flag count count count",
        "copy_tile_init": "cb",
        "copy_tile_to_dst_init_short": "cb",
        "copy_tile": "cb index dst",
        "transpose_init": "cb",
        "transpose_tile": "cb index dst",
        "reduce_init": "cb cb cb",
        "reduce_uninit": "cb?",
        "reduce_tile": "cb cb index index dst",
        "bcast_init": "cb cb",
        "pack_tile": "dst cb index?",
        "pack_reconfig_data_format": "cb cb?",
        "pack_reconfig_l1_acc": "flag",
        "reconfig_data_format": "cb cb cb? cb?",
        "reconfig_data_format_srca": "cb cb?",
        "reconfig_data_format_srcb": "cb cb?",
        "binop_with_scalar_tile_init": "",
        "fill_tile_init": "",
        "fill_tile": "dst float",
        "fill_tile_bitcast": "dst bits",
        "fill_tile_int": "dst value",
        "rounding_op_tile_init": "",
        **{f"{name}_tile": "dst" for name in _ROUNDING},
        "where_tile_init": "",
        "where_tile": "dst dst dst dst",
        "typecast_tile_init": "",
        "typecast_tile": "dst",
        **{f"tile_regs_{step}": "" for step in ("acquire", "commit", "wait", "release")},
        **{f"{name}_tile_init": "" for name in (*_UNARY, *_SCALAR_WITH_INIT, *_BINARY)},
        **{f"{name}_tile": "dst" for name in _UNARY},
        **{f"{name}_tile": "dst bits" for name in (*_SCALAR, *_SCALAR_WITH_INIT)},
        **{f"{name}_tile": "dst dst dst" for name in _BINARY},
    }
    table = {name: tuple(roles.split()) for name, roles in rows.items()}
    table["matmul_tiles"] = cb_tiles
    for name in ("add", "sub", "mul"):
        table[f"{name}_init"] = ("cb", "cb", "flag?")
        table[f"{name}_tiles"] = cb_tiles
        table[f"{name}_tiles_bcast"] = (*cb_tiles, "index?")
        for dim in ("rows", "cols", "scalar"):
            table[f"{name}_bcast_{dim}_init"] = ("cb", "cb")
    return table


ROLES: Mapping[str, tuple[str, ...]] = MappingProxyType(_table())

_IGNORED = frozenset(
    {
        *("if", "for", "while", "switch", "return", "sizeof", "defined", "constexpr"),
        *("reinterpret_cast", "static_cast", "kernel_main", "DPRINT", "min", "max"),
        *("get_absolute_logical_x", "get_absolute_logical_y"),
        *("int32_t", "uint32_t", "float", "__builtin_inff", "__builtin_nanf"),
    }
)
_MEMBERS = frozenset({"next_compile_time_args_offset", "get_noc_addr", "get_aligned_page_size"})
_CALL = re.compile(r"(?P<member>\.\s*)?\b(?P<name>[A-Za-z_]\w*)\s*(?:<[^;(){}]*?>)?\s*\(")
_DEFINITION = re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>[^=;][^;]*);")
_LOCAL_FUNCTION = re.compile(r"\b(?:void|uint32_t|uint64_t|auto)\s+(?P<name>\w+)\s*\(")
_SOURCES = (
    ("rectangle", re.compile(r"\bget_noc_multicast_addr\s*\(")),
    ("noc", re.compile(r"\bget_noc_addr(?:_from_bank_id\s*<\w+>)?\s*\(")),
    ("pointer", re.compile(r"\breinterpret_cast\s*<")),
    ("accessor_args", re.compile(r"\bTensorAccessorArgs\s*<")),
    ("accessor", re.compile(r"\bTensorAccessor\s*\(")),
    ("l1", re.compile(r"\bget_(?:write_ptr|read_ptr|semaphore)\s*\(")),
    ("bytes", re.compile(r"\bget_tile_size\s*\(")),
    ("cb", re.compile(r"\btt::CB(?:Index)?::c_\w+")),
    ("word", re.compile(r"\bget_(?:common_)?arg_val\s*<")),
)
_PRECEDENCE = (
    *("rectangle", "noc", "pointer", "accessor", "accessor_args", "l1", "bytes", "any", "cb"),
    *("word", "integer"),
)
"""An expression is the first of these that occurs in it: an address plus bytes is an address."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_LITERAL = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9.]+(?:e-?\d+)?)[uUlLfF]*|true|false|VALID|INVALID")


@dataclass(frozen=True)
class RoleError:
    """A call that does not fit the table."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


def _kind(expression: str, kinds: Mapping[str, str]) -> str:
    """What an expression is."""
    text = expression.strip()
    if _LITERAL.fullmatch(text):
        return "literal"
    found = {kinds[name] for name in re.findall(r"[A-Za-z_]\w*", text) if name in kinds}
    found |= {kind for kind, pattern in _SOURCES if pattern.search(text)}
    for kind in _PRECEDENCE:
        if kind in found:
            return kind
    return "integer"


def _kinds(text: str) -> dict[str, str]:
    """The kinds of all variables; a helper's parameters are unknown."""
    kinds: dict[str, str] = {}
    for found in _LOCAL_FUNCTION.finditer(text):
        for parameter in split_arguments(enclosed(text, found.end())):
            kinds[parameter.split()[-1].lstrip("&*")] = "any"
    for _ in range(2):
        for found in _DEFINITION.finditer(text):
            kind = _kind(found["value"], kinds)
            kinds[found["name"]] = "integer" if kind == "literal" else kind
    return kinds


def check_calls(source: str) -> tuple[RoleError, ...]:
    """The calls of a kernel that are unknown, or have an argument in the wrong place."""
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    text = re.sub(r"^[ \t]*#[^\n]*", "", text, flags=re.MULTILINE)
    kinds = _kinds(text)
    local = {found["name"] for found in _LOCAL_FUNCTION.finditer(text)}
    return tuple(_errors(text, kinds, local))


def _errors(text: str, kinds: Mapping[str, str], local: set[str]) -> Iterator[RoleError]:
    for found in _CALL.finditer(text):
        name = found["name"]
        if name in _IGNORED or name in local or name == "get_noc_addr":
            continue
        line = text.count("\n", 0, found.start()) + 1
        if found["member"]:
            if name not in _MEMBERS:
                yield RoleError(line, f"member '{name}' is not in the table of device calls")
            continue
        if name == "TensorAccessorArgs":
            continue
        roles = ROLES.get(name)
        if roles is None:
            yield RoleError(line, f"'{name}' is not in the table of device calls")
            continue
        arguments = split_arguments(enclosed(text, found.end()))
        required = sum(not role.endswith("?") for role in roles)
        if not required <= len(arguments) <= len(roles):
            expected = f"{required}" if required == len(roles) else f"{required} to {len(roles)}"
            yield RoleError(line, f"{name}: {len(arguments)} arguments, expected {expected}")
            continue
        for position, (argument, role) in enumerate(zip(arguments, roles, strict=False), start=1):
            kind = _kind(argument, kinds)
            if kind != "any" and kind not in ACCEPTED[role.removesuffix("?")]:
                yield RoleError(
                    line,
                    f"{name}: argument {position} is the {role.removesuffix('?')}, "
                    f"but '{argument}' is {kind}",
                )
