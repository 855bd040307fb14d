"""Python functions of a script that torch calls by itself.

torch takes a function mode off while it works on a call. What it calls back meanwhile would see
host memory where the script put ``cuda``:

    kernels of operators         ``torch.library.custom_op``, ``Library.impl``
    gradients                    ``autograd.Function.backward``, ``register_autograd``
    hooks                        ``Tensor.register_hook``, ``saved_tensors_hooks`` (checkpoints)

These run inside the mode again. Gradients that torch made by itself, without the mode, are marked
when they reach Python: a gradient is on the device of what it is the gradient of. Kernels that are
registered for CUDA are taken for tensors that believe to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import getattr_static
from typing import Any, Protocol, cast

_CPU, _CUDA = "CPU", "CUDA"
_DEFAULT = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "")
_ON_CUDA = "_tilewright_on_cuda"

Function = Callable[..., Any]


class Marks(Protocol):
    """What of `torch_devices` is needed here."""

    def tensors(self, values: Sequence[Any]) -> Any:
        """The tensors among `values`."""
        ...

    def is_marked(self, tensor: Any) -> bool:
        """Whether `tensor` stands for one on ``cuda``."""
        ...

    def mark(self, tensor: Any) -> None:
        """Let it stand for one."""
        ...


class Callbacks:
    """Functions that run inside the mode wherever they are called."""

    def __init__(self, torch: Any, mode: type[Any], marks: Marks) -> None:
        self._torch = torch
        self._mode = mode
        self._marks = marks

    def replace(self) -> None:
        """Make torch run what it calls back inside the mode."""
        self._replace_backward()
        self._replace_hooks()
        self._replace_kernels()

    def inside(self, function: Function) -> Function:
        """`function`, which runs inside the mode."""

        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            modes = self._torch.overrides._get_current_function_mode_stack()
            if any(isinstance(mode, self._mode) for mode in modes):
                return function(*args, **kwargs)
            with self._mode():
                return function(*args, **kwargs)

        return run

    def _mark_all(self, values: Sequence[Any]) -> None:
        for tensor in self._marks.tensors(values):
            self._marks.mark(tensor)

    def _any_marked(self, values: Sequence[Any]) -> bool:
        return any(map(self._marks.is_marked, self._marks.tensors(values)))

    # -- gradients -------------------------------------------------------------------------------

    def _replace_backward(self) -> None:
        function = self._torch.autograd.Function
        forward = getattr_static(function, "apply")  # Python's in some releases, C's in others
        backward = self._torch.autograd.function.BackwardCFunction
        original = self.inside(backward.apply)

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            result = forward.__get__(None, cls)(*args, **kwargs)
            for tensor in self._marks.tensors((result,)):
                node = tensor.grad_fn
                if node is not None and (self._marks.is_marked(tensor) or self._any_marked(args)):
                    setattr(node, _ON_CUDA, True)
            return result

        def apply_backward(node: Any, *args: Any) -> Any:
            if getattr(node, _ON_CUDA, False):
                self._mark_all(args)
            return original(node, *args)

        function.apply = classmethod(apply)
        backward.apply = apply_backward

    # -- hooks -----------------------------------------------------------------------------------

    def hook(self, tensor: Any, hook: Function) -> Function:
        """A hook on the gradient of `tensor`."""
        run, is_marked = self.inside(hook), self._marks.is_marked(tensor)

        @wraps(hook)
        def called(gradient: Any) -> Any:
            if is_marked:
                self._mark_all((gradient,))
            return run(gradient)

        return called

    def _replace_hooks(self) -> None:
        hooks = self._torch.autograd.graph.saved_tensors_hooks
        initialise = hooks.__init__

        def __init__(this: Any, pack_hook: Function, unpack_hook: Function, *rest: Any) -> None:
            initialise(this, self.inside(pack_hook), self.inside(unpack_hook), *rest)

        hooks.__init__ = __init__

    # -- kernels of operators --------------------------------------------------------------------

    def _replace_kernels(self) -> None:
        library = self._torch.library
        register: Function = library.Library.impl
        tables: dict[str, dict[str, Function]] = {}

        @wraps(register)
        def impl(this: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
            key = dispatch_key or this.dispatch_key
            if fn is library.fallthrough_kernel or not callable(fn) or key == "Meta":
                return register(this, op_name, fn, dispatch_key, **options)
            run = self.inside(cast("Function", fn))
            name = _full_name(this, op_name)
            table = tables.setdefault(name, {})
            if key in _DEFAULT and not options.get("with_keyset"):
                table[""] = run
            if key not in (_CPU, _CUDA) or options.get("with_keyset"):
                return register(this, op_name, run, dispatch_key, **options)
            is_new = not table.keys() & {_CPU, _CUDA}
            if is_new and self._torch._C._dispatch_has_kernel_for_dispatch_key(name, _CPU):
                return register(this, op_name, run, dispatch_key, **options)  # torch's own
            table[key] = run
            if is_new:
                register(this, op_name, self._chosen(name, table), _CPU, **options)
            return None

        library.Library.impl = impl

    def _chosen(self, name: str, table: dict[str, Function]) -> Function:
        """A kernel for host memory that calls the one for the device of the tensors, as marked."""

        def run(*args: Any, **kwargs: Any) -> Any:
            key = _CUDA if self._any_marked((*args, *kwargs.values())) else _CPU
            found = table.get(key) or table.get("")
            if found is None:
                raise NotImplementedError(
                    f"{name} has no implementation for tensors on {key.lower()}: it is registered "
                    f"for {', '.join(each.lower() for each in table)}"
                )
            return found(*args, **kwargs)

        return run


def _full_name(library: Any, op_name: Any) -> str:
    """Namespace and name: ``mylib::add``, with the overload where there is one."""
    name = op_name if isinstance(op_name, str) else str(op_name._schema.name)
    overload = "" if isinstance(op_name, str) else str(op_name._schema.overload_name)
    name = name if "::" in name else f"{library.ns}::{name}"
    return f"{name}.{overload}" if overload else name
