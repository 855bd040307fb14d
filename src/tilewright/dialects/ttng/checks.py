"""What several verifiers of this dialect check.

The functions raise ``VerifyException`` with Triton's messages. Where its releases and the TLX
fork disagree, the check is the one that all their programs pass: text of any of them must load.
Checks that need layouts as functions (is this register layout one that tensor memory can be
read into?) are made when layouts are lowered, not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.context import num_ctas_at
from tilewright.dialects.ttg.interfaces import LayoutEncoding
from tilewright.dialects.ttg.struct import Bases, Ints, bases_text
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.dialects.type_utils import encoding_of, shape_of

TWO_CTAS = "ttng.two-ctas"
"""Whether the kernel's matrix instructions use pairs of CTAs."""


def enclosing_module(op: Operation) -> ModuleOp | None:
    """The module `op` is in."""
    current: Operation | None = op
    while current is not None and not isinstance(current, ModuleOp):
        current = current.parent_op()
    return current


def module_attribute(op: Operation, name: str) -> Attribute | None:
    """An attribute of the module `op` is in."""
    module = enclosing_module(op)
    return None if module is None else module.attributes.get(name)


def verify_barrier(op: Operation, type: Attribute) -> None:
    """Raise if `type` is not that of a barrier: one word of 64 bits for each of some CTAs."""
    if (
        isinstance(type, MemDescType)
        and type.rank == 1
        and type.element_type == i64
        and type.shape[0] <= num_ctas_at(op)
    ):
        return
    raise VerifyException(
        "barrier allocation must be a descriptor of Nxi64 type with N <= number of CTAs"
    )


def verify_arrive_count(count: IntegerAttr) -> None:
    """Raise if an arrival counts for nothing."""
    if count.value.data < 1:
        raise VerifyException("count must be greater than or equal to 1")


def layout_of(type: Attribute) -> Attribute | None:
    """The layout of a tensor or buffer, out of the marks that a user's choice of it carries."""
    found = type.encoding if isinstance(type, MemDescType) else encoding_of(type)
    return None if found is None else unwrapped(found)


def cga_of(type: Attribute) -> Bases:
    """How the CTAs of a cluster share a tensor or buffer."""
    layout = layout_of(type)
    return layout.cga if isinstance(layout, LayoutEncoding) else ()


def verify_mma_shapes(left: Ints, right: Ints, result: Attribute, *, is_pair: bool = False) -> None:
    """Raise if matrices of these shapes cannot be multiplied to one of the shape of `result`.

    A pair of CTAs may see half of the right matrix each, or the whole.
    """
    (rows, k), (k_right, columns) = left, right
    if k != k_right:
        raise VerifyException(
            "expected the last dimension of the first operand to be equal to "
            "the second-to-last dimension of the second operand"
        )
    shape = shape_of(result)[-2:]
    if shape != (rows, columns) and not (is_pair and shape == (rows, 2 * columns)):
        raise VerifyException(
            "expected the output shape to be the concatenation of the last dimension of the "
            "first operand and the last dimension of the second "
        )


def one_per_cta(num_ctas: int) -> Bases:
    """The CTA layout of an array with one element for each CTA."""
    return tuple((1 << bit,) for bit in range(num_ctas.bit_length() - 1))


def one_per_pair(num_ctas: int) -> Bases:
    """The CTA layout of an array with one element for each pair of CTAs."""
    return ((0,), *one_per_cta(num_ctas // 2))


def verify_cga_layout(what: str, type: Attribute, expected: Sequence[Bases]) -> None:
    """Raise unless CTAs share the buffer in one of the `expected` ways."""
    actual = cga_of(type)
    if actual in expected:
        return
    alternatives = " or ".join(bases_text(bases) for bases in expected)
    raise VerifyException(f"{what} cga_layout must be {alternatives}, got {bases_text(actual)}")


def _is_only_barrier(type: Attribute) -> bool:
    """Whether a buffer of several dimensions holds one barrier: TLX's automatic warp specialisation
    signals it without an index.
    """
    if not isinstance(type, MemDescType) or type.rank == 1:
        return False
    return type.element_type == i64 and prod(type.shape) == 1


def verify_completion_barrier(op: Operation, type: Attribute) -> None:
    """Raise if a matrix instruction cannot signal its completion on a barrier of `type`."""
    if _is_only_barrier(type):
        return
    verify_barrier(op, type)
    num_ctas = num_ctas_at(op)
    if num_ctas == 1:
        # TLX starts clusters of CTAs that are programs of their own; the count stays one.
        return
    is_shared_by_all = not any(any(basis) for basis in cga_of(type))
    if is_shared_by_all and module_attribute(op, TWO_CTAS) is None:
        # What Triton 3.6 does. Later releases always mark pairs.
        return
    expected = [one_per_cta(num_ctas)]
    if uses_pairs(op):
        expected.append(one_per_pair(num_ctas))
    verify_cga_layout("completion barrier", type, expected)


def verify_tma_barrier(op: Operation, type: Attribute) -> None:
    """Raise if a TMA copy cannot signal its completion on a barrier of `type`."""
    verify_barrier(op, type)
    num_ctas = num_ctas_at(op)
    if num_ctas == 1 or module_attribute(op, TWO_CTAS) is None:
        return
    expected = [one_per_cta(num_ctas)]
    if uses_pairs(op):
        expected.append(one_per_pair(num_ctas))
    verify_cga_layout("TMA barrier", type, expected)


def uses_pairs(op: Operation) -> bool:
    """Whether the kernel's matrix instructions use pairs of CTAs."""
    found = module_attribute(op, TWO_CTAS)
    return isinstance(found, IntegerAttr) and bool(found.value.data)


def verify_from_cta(op: Operation, type: Attribute, mask: IntegerAttr | None) -> None:
    """Raise if `mask` cannot choose the CTA that signals a barrier of `type`."""
    if mask is None:
        return
    num_ctas, barrier = num_ctas_at(op), memdesc(type)
    if not 0 <= mask.value.data < num_ctas:
        raise VerifyException("fromCTA must be in the range [0, num_ctas - 1]")
    if barrier.shape != (num_ctas,) or cga_of(barrier) != one_per_cta(num_ctas):
        raise VerifyException(
            "fromCTA requires a 1D barrier with one element per CTA and canonical CGA layout"
        )
