"""Building ops on constants and reading off what they fold to."""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.folding import fold
from tilewright.dialects.folding.constants import element_values, from_values, splat
from tilewright.ir.interfaces import constant_value

MakeOp = Callable[..., Operation]


def unknown(type: Attribute) -> SSAValue:
    """A value of which nothing is known."""
    return Block(arg_types=[type]).args[0]


def constant(values: float | Sequence[float], type: Attribute) -> SSAValue:
    """A constant: one number for a scalar or splat, a list for a dense tensor."""
    attribute = from_values(values, type) if isinstance(values, list) else splat(values, type)
    assert attribute is not None
    return ConstantOp.create(result_types=[type], properties={"value": attribute}).results[0]


def fold_values(op: Operation) -> Sequence[SSAValue | Attribute] | None:
    return fold(op, [constant_value(operand) for operand in op.operands])


def folded_attribute(op: Operation) -> Attribute | None:
    """The constant an op with one result folds to."""
    folded = fold_values(op)
    if folded is None:
        return None
    (value,) = folded
    assert isinstance(value, Attribute), f"'{op.name}' folds to a value, not to a constant"
    return value


def folded_number(op: Operation) -> float | None:
    """The single number an op folds to, also by way of a constant operand; integers are signed."""
    folded = fold_values(op)
    if folded is None:
        return None
    (value,) = folded
    found = element_values(constant_value(value) if isinstance(value, SSAValue) else value)
    assert found is not None and len(found) == 1
    return found[0]


def folded_operand(op: Operation) -> SSAValue | None:
    """The operand that an op folds to."""
    folded = fold_values(op)
    if folded is None:
        return None
    (value,) = folded
    assert isinstance(value, SSAValue), f"'{op.name}' folds to a constant, not to a value"
    return value


def binary(make: MakeOp, type: Attribute, a: float, b: float) -> Operation:
    return make(constant(a, type), constant(b, type))


def tensor(element: Attribute, *shape: int) -> TensorType:
    return TensorType(element, shape)
