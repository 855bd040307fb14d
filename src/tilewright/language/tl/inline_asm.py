"""Functions given by the user, applied to every element.

`inline_asm_elementwise` takes assembly of the device, `map_elementwise` a function of scalars: with
control flow over single elements, where `tl.where` would compute both sides for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, Region

from tilewright.dialects.tt import (
    ElementwiseInlineAsmOp,
    MapElementwiseOp,
    MapElementwiseReturnOp,
)
from tilewright.frontend.builder import current
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dtypes import dtype, is_power_of_two
from tilewright.language.tl.operands import broadcast_all, returned
from tilewright.language.tl.tensor import Operand, tensor


def inline_asm_elementwise(
    asm: str,
    constraints: str,
    args: Sequence[Operand],
    dtype: dtype | Sequence[dtype],
    is_pure: bool,
    pack: int,
) -> tensor | tuple[tensor, ...]:
    """The results of assembly that is given `pack` elements of each argument at a time.

    `constraints` are those of LLVM: an output register for each result, then the inputs. Elements
    of fewer than 32 bits come packed in registers of 32. Arguments are broadcast to one shape,
    which results have too; several `dtype` give several results.
    """
    asm, constraints = unwrap(asm), unwrap(constraints)
    is_pure, pack = bool(unwrap(is_pure)), unwrap(pack)
    dtypes = unwrap(dtype)
    types: list[Any] = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]
    values = broadcast_all(*(to_tensor(value) for value in args))
    if values:
        types = [values[0].type.with_element_ty(type) for type in types]
    op = ElementwiseInlineAsmOp(
        asm,
        constraints,
        [value.handle for value in values],
        [type.to_ir() for type in types],
        pure=is_pure,
        packed_element=pack,
    )
    handles = current().insert(op).results
    results = tuple(tensor(handle, type) for handle, type in zip(handles, types, strict=True))
    return results if isinstance(dtypes, (list, tuple)) else results[0]


def map_elementwise(
    scalar_fn: Callable[..., Any], *args: Operand, pack: int = 1
) -> tensor | tuple[tensor, ...]:
    """The results of `scalar_fn` for each element of `args`, broadcast to one shape.

    With `pack`, that many elements of the first argument, then of the second and so on are given
    at a time, and as many of each result are returned.
    """
    if not args:
        raise ValueError("map_elementwise must have at least 1 input tensor")
    if not is_power_of_two(pack):
        raise ValueError(f"pack must be a power of 2, got {pack}")
    inputs = [to_tensor(value) for value in args]
    region, found, is_single = _mapped([value.dtype for value in inputs], scalar_fn, pack)
    values = broadcast_all(*inputs)
    if not values[0].type.is_block():
        raise TypeError("map_elementwise takes blocks: call the function itself for scalars")
    types = [values[0].type.with_element_ty(type) for type in found]
    op = MapElementwiseOp(
        [value.handle for value in values], [type.to_ir() for type in types], region, pack
    )
    handles = current().insert(op).results
    results = tuple(tensor(handle, type) for handle, type in zip(handles, types, strict=True))
    return results[0] if is_single else results


def _mapped(
    elements: Sequence[dtype], function: Callable[..., Any], pack: int
) -> tuple[Region, list[dtype], bool]:
    """The region of `function`, the types it returns, and whether it returns one value."""
    types = [element for element in elements for _ in range(pack)]
    block = Block(arg_types=[type.to_ir() for type in types])
    region = Region(block)
    with current().at(block):
        mapped: object = function(*map(tensor, block.args, types))
        results = returned(mapped)
        current().insert(MapElementwiseReturnOp(*(value.handle for value in results)))
    types = _unpacked([value.type for value in results], pack)
    return region, types, not isinstance(mapped, tuple)


def _unpacked(types: Sequence[dtype], pack: int) -> list[dtype]:
    """The element types of the results, each of which is returned `pack` times."""
    first = list(types[::pack])
    if len(types) % pack or any(list(types[offset::pack]) != first for offset in range(1, pack)):
        raise TypeError(
            f"type mismatch in unpacked results: with pack={pack} each result is returned {pack} "
            f"times, got {', '.join(map(str, types))}"
        )
    return first
