"""What ops of the Tensix level share: the kernels they may occur in, and constant operands."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tensix.types import CBType, Role
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.text.assembly import AsmOp

ANY_ROLE = (Role.READER, Role.COMPUTE, Role.WRITER)
DATA_MOVEMENT = (Role.READER, Role.WRITER)
COMPUTE = (Role.COMPUTE,)


class TensixOp(AsmOp):
    """Base of ops inside a kernel; `ROLES` are the kernels that can execute it."""

    ROLES: ClassVar[tuple[Role, ...]] = ANY_ROLE

    def verify_(self) -> None:
        from tilewright.dialects.tensix.program import kernel_of

        kernel = kernel_of(self)
        if kernel is not None and kernel.role not in self.ROLES:
            allowed = " and ".join(role.value for role in self.ROLES)
            raise VerifyException(
                f"is executed by {allowed} kernels, but '@{kernel.sym_name.data}' is a "
                f"{kernel.role.value} kernel"
            )


def cb_type(value: SSAValue) -> CBType:
    """The type of a circular buffer."""
    assert isinstance(value.type, CBType)
    return value.type


def verify_page_count(cb: SSAValue, pages: SSAValue) -> None:
    """Raise for a constant count that the circular buffer can never hold."""
    count = constant_integer(pages)
    capacity = cb_type(cb).pages
    if count is not None and not 1 <= count <= capacity:
        raise VerifyException(
            f"page count must be 1 to {capacity}, the capacity of the circular buffer, got {count}"
        )
