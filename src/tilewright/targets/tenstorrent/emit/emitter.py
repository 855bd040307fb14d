"""Writes the C++ of one kernel, op by op, from a table.

Statements, names and comments are those of the other C++ targets; here ``index`` is ``uint32_t``,
circular buffers are constants and accessors are objects. An op without a rule is an internal error:
compute kernels contain only calls of the compute API, loops and integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from typing_extensions import override
from xdsl.dialects.builtin import Float32Type, IndexType
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tensix.program import EndOp
from tilewright.targets.cxx.emitter import Emitter, Rule, Text
from tilewright.targets.cxx.flavour import FLOAT, CType, Flavour
from tilewright.targets.cxx.syntax import c_type

UINT32 = CType("uint32_t", 32)
TENSIX = Flavour(
    name="a Tensix kernel",
    types={Float32Type: FLOAT},
    vectors={},
    packed={},
    identities={},
    identity_type="uint32_t",
    special_float=lambda bits: f"__builtin_bit_cast(float, 0x{bits:08x}u)",
    special_double=lambda bits: f"__builtin_bit_cast(double, 0x{bits:016x}ull)",
    library={},
)


class Api(Enum):
    """The level of the vendor's API that the text is written in."""

    CURRENT = "2026"
    OLDER = "2025"
    """The spelling before the renaming of inits; no longer compiles on the vendor's HEAD."""


class TensixEmitter(Emitter):
    """Writes the body of ``kernel_main``."""

    def __init__(
        self, rules: Mapping[str, Rule], *, api: Api = Api.CURRENT, comments: bool = True
    ) -> None:
        super().__init__(rules, TENSIX, comments=comments)
        self.api = api
        self.headers: dict[str, None] = {}
        """Headers below ``api/compute``, in the order of their first use."""
        self.tables: list[str] = []
        """Constants that are declared before the kernel."""
        self.accessors: list[tuple[int, str]] = []
        """The position of the first compile-time argument of each accessor, and its name."""

    @override
    def scalar(self, type: Attribute) -> CType:
        found = UINT32 if isinstance(type, IndexType) else c_type(type, self.flavour)
        if found is None:
            raise self.refusal(f"type '{type}' has no equivalent in {self.flavour.name}")
        return found

    @override
    def _comment(self, op: Operation) -> None:
        if not isinstance(op, EndOp):
            super()._comment(op)

    def include(self, *headers: str) -> None:
        for header in headers:
            self.headers.setdefault(header)

    def invoke(self, function: str, arguments: Sequence[SSAValue | str | int]) -> None:
        """A statement that calls a function of the API."""
        self.statement(f"{self.invocation(function, arguments)};")

    def invocation(self, function: str, arguments: Sequence[SSAValue | str | int]) -> str:
        texts = [
            self.operand(each) if isinstance(each, SSAValue) else str(each) for each in arguments
        ]
        return f"{function}({', '.join(texts)})"

    def accessor_offset(self, position: int) -> str:
        """The first compile-time argument of an accessor.

        How many words a sharded tensor takes is up to the host, so that what follows one is
        computed from it.
        """
        before = [each for each in self.accessors if each[0] < position]
        if not before or position == 2 * len(before):
            return str(position)
        return f"{max(before)[1]}.next_compile_time_args_offset()"

    def named(self, value: SSAValue, hint: str, text: str) -> None:
        """A result that always gets a variable, named after `hint`."""
        name = self.names.take(hint)
        self.define(value, Text(name))
        self.statement(f"const uint32_t {name} = {text};")
