"""Kernel functions that call kernel functions.

A called function is executed in the block of its caller, as if its text stood there. It becomes a
function of the IR instead, with a ``tt.call``, in two cases: it is marked `noinline`, or it returns
early under a run-time condition, which needs blocks that the caller's construct may not have. The
latter shows only when the condition is evaluated; what was traced until then is discarded.

Functions of the IR are shared between calls whose arguments are of the same kinds and constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IntegerAttr, LocationAttr, ModuleOp, TensorType, i1
from xdsl.ir import Attribute

from tilewright.dialects.tt import CallOp, FuncOp
from tilewright.frontend.body import Body
from tilewright.frontend.builder import Builder, current, using
from tilewright.frontend.captures import Capture, Namespace
from tilewright.frontend.control_flow.control import Control, NeedsBody
from tilewright.frontend.errors import BAD_CALL, RECURSION, FrontendError, Note
from tilewright.frontend.locations import Activation, activated, activations
from tilewright.frontend.merging import discard_ops, labels_of
from tilewright.frontend.values import Value, handles, kind, rebuild
from tilewright.frontend.vocabulary import Vocabulary
from tilewright.ir.text.locations import file_location, name_location

if TYPE_CHECKING:
    from tilewright.frontend.functions.function import KernelFunction

MAX_DEPTH = 100
"""Calls of a function by itself, with constants that differ every time."""


@dataclass(frozen=True)
class _Compiled:
    """A function of the IR, and an example of what it returns."""

    op: FuncOp
    result: Any


@dataclass
class Session:
    """One trace: the module being built, and its findings so far."""

    vocabulary: Vocabulary
    module: ModuleOp
    captured: list[Capture] = field(default_factory=list[Capture])
    _functions: dict[tuple[KernelFunction, str], _Compiled] = field(
        default_factory=dict["tuple[KernelFunction, str]", _Compiled]
    )
    _namespaces: dict[KernelFunction, Namespace] = field(
        default_factory=dict["KernelFunction", Namespace]
    )

    @property
    def functions(self) -> tuple[KernelFunction, ...]:
        """The kernel functions executed so far."""
        return tuple(self._namespaces)

    def namespace(self, function: KernelFunction) -> Namespace:
        found = self._namespaces.get(function)
        if found is None:
            found = self._namespaces[function] = Namespace(
                function.fn, function.vocabulary, self.captured.append, library=function.is_library
            )
        return found

    # -- execution ---------------------------------------------------------------------------

    def execute(
        self,
        function: KernelFunction,
        arguments: Mapping[str, Any],
        caller: LocationAttr | None,
        body: Body | None = None,
    ) -> Control:
        """Run `function` on `arguments`, into the current builder."""
        rewritten = function.rewritten
        control = function.control(rewritten, function.vocabulary, body)
        control.definitions = dict.fromkeys(arguments)
        python = FunctionType(rewritten.code, self.namespace(function))
        owner = _Running(self, function, arguments, control)
        with activated(Activation(rewritten.source_map, owner, caller)):
            python(control, *arguments.values())
        return control

    def call(self, function: KernelFunction, arguments: Mapping[str, Any]) -> Any:
        """Call `function` from where the trace is."""
        _refuse_recursion(function, arguments)
        if function.noinline:
            _refuse_tensors(function, arguments)
            return self._call_compiled(function, arguments)
        builder = current()
        block, last = builder.block, builder.block.last_op
        try:
            return self.execute(function, arguments, builder.location()).result
        except NeedsBody:
            builder.block = block
            discard_ops(block, last)
            return self._call_compiled(function, arguments)

    def _call_compiled(self, function: KernelFunction, arguments: Mapping[str, Any]) -> Any:
        vocabulary = function.vocabulary
        mangled = "_".join([vocabulary.mangle(value) for value in arguments.values()])
        compiled = self._functions.get((function, mangled))
        if compiled is None:
            compiled = self._compile(function, arguments, self._symbol(function, mangled))
            self._functions[function, mangled] = compiled
        passed = [handle for value in arguments.values() for handle in handles(value)]
        types = compiled.op.function_type.outputs.data
        call = current().insert(CallOp(compiled.op, passed, types))
        return rebuild(compiled.result, iter(call.results))

    def _symbol(self, function: KernelFunction, mangled: str) -> str:
        """A name that no other function has: two closures may share all but what they captured."""
        name = f"{function.full_name}__{mangled}"
        taken = {op.sym_name.data for op in self.module.ops if isinstance(op, FuncOp)}
        suffix = 0
        symbol = name
        while symbol in taken:
            suffix += 1
            symbol = f"{name}_{suffix}"
        return symbol

    def _compile(
        self, function: KernelFunction, arguments: Mapping[str, Any], name: str
    ) -> _Compiled:
        """A private function for arguments like `arguments`."""
        inputs = [handle.type for value in arguments.values() for handle in handles(value)]
        op = function_op(function, name, inputs, visibility="private")
        self.module.body.block.add_op(op)
        source = iter(op.body.block.args)
        inner = {key: rebuild(value, source) for key, value in arguments.items()}
        return _Compiled(op, self.fill(function, op, inner))

    def fill(self, function: KernelFunction, op: FuncOp, arguments: Mapping[str, Any]) -> Any:
        """Trace `function` into `op`; an example of what it returns."""
        label_arguments(op, arguments)
        body = Body(op, function.vocabulary)
        with using(Builder(op.body.block)) as builder:
            control = self.execute(function, arguments, None, body)
            if not control.done:
                body.add_return(builder.block, function.vocabulary.returned(None), op.location)
            return body.finish(builder)


@dataclass(frozen=True)
class _Running:
    """The owner of an activation."""

    session: Session
    function: KernelFunction
    arguments: Mapping[str, Any]
    control: Control


def current_control() -> Control | None:
    """The run-time of the innermost function that is being executed."""
    running = activations()
    if not running:
        return None
    owner = running[-1].owner
    assert isinstance(owner, _Running)
    return owner.control


def current_session(vocabulary: Vocabulary) -> Session:
    """The session of the kernel being traced."""
    running = activations()
    if running:
        owner = running[-1].owner
        assert isinstance(owner, _Running)
        return owner.session
    return Session(vocabulary, ModuleOp([]))  # a builder in use without a trace: tests, REPL


def function_op(
    function: KernelFunction,
    name: str,
    inputs: list[Attribute],
    *,
    visibility: str,
    arg_attrs: list[Mapping[str, Attribute]] | None = None,
) -> FuncOp:
    """An empty function of the IR for `function`."""
    rewritten = function.rewritten
    noinline = function.noinline and visibility == "private"  # a kernel is not called
    op = FuncOp(
        name,
        (inputs, ()),
        visibility=visibility,
        arg_attrs=arg_attrs,
        attributes={"noinline": IntegerAttr(int(noinline), i1)},
    )
    op.location = file_location(rewritten.source_map.file, rewritten.line, rewritten.column)
    return op


def label_arguments(op: FuncOp, arguments: Mapping[str, Any]) -> None:
    """Arguments of the IR are named after the parameters they belong to."""
    labels = [label for name, value in arguments.items() for label in labels_of(name, value)]
    for argument, label in zip(op.body.block.args, labels, strict=True):
        argument.location = name_location(label, op.location)


def _refuse_tensors(function: KernelFunction, arguments: Mapping[str, Any]) -> None:
    """A function of the device takes what fits a register of every thread."""
    for name, value in arguments.items():
        held = value.handles() if isinstance(value, Value) else ()
        if any(_has_many_elements(handle.type) for handle in held):
            raise FrontendError(
                f"Function {function.name} is marked noinline, but was called with non-scalar "
                f"argument {name}:{value}: pass pointers and scalars, or take noinline away",
                code=BAD_CALL,
            )


def _has_many_elements(type: Attribute) -> bool:
    return isinstance(type, TensorType) and prod(type.get_shape()) != 1


def _refuse_recursion(function: KernelFunction, arguments: Mapping[str, Any]) -> None:
    """A function may call itself only with other constants, and with bounded depth."""
    running = [each.owner for each in activations() if isinstance(each.owner, _Running)]
    same = [each for each in running if each.function is function]
    if not same:
        return
    kinds = _kinds(arguments)
    if len(same) < MAX_DEPTH and all(_kinds(each.arguments) != kinds for each in same):
        return
    chain = " -> ".join([*(each.function.name for each in running[-8:]), function.name])
    notes: list[Note] = [(None, f"the calls are {chain}")]
    raise FrontendError(
        f"{function.name} calls itself: a kernel has no stack, write a loop",
        code=RECURSION,
        notes=notes,
    )


def _kinds(arguments: Mapping[str, Any]) -> list[object]:
    return [kind(value) for value in arguments.values()]
