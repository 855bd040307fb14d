"""`@jit`: which of the two languages a function is written in, and the kernel of that kind.

Nothing of either language is loaded before it is known which: a program with kernels of `T` needs
nothing of `tl`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from tilewright._exports import loading

if TYPE_CHECKING:
    from tilewright.runtime.pointer.jit import JITFunction

# What names a kernel of `T`, or a function that makes one, uses.
_TILE_NAMES = frozenset({"Kernel", "ClusterKernel", "const", "prim_func"})


def _is_tile_function(function: object) -> bool:
    is_function = isinstance(function, FunctionType)
    return is_function and not _TILE_NAMES.isdisjoint(function.__code__.co_names)


@overload
def jit(function: Callable[..., Any]) -> JITFunction: ...
@overload
def jit(
    *,
    version: object = None,
    repr: object = None,
    launch_metadata: object = None,
    do_not_specialize: Collection[str | int] = (),
    do_not_specialize_on_alignment: Collection[str | int] = (),
    debug: bool | None = None,
    noinline: bool | None = None,
    check_uninitialised: bool | None = None,
    **tile_options: Any,
) -> Callable[[Callable[..., Any]], Any]: ...
def jit(
    function: Callable[..., Any] | None = None,
    *,
    version: object = None,
    repr: object = None,
    launch_metadata: object = None,
    do_not_specialize: Collection[str | int] | None = None,
    do_not_specialize_on_alignment: Collection[str | int] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
    check_uninitialised: bool | None = None,
    **tile_options: Any,
) -> Any:
    """Make a kernel of a Python function, or a function that kernels can call.

    A function with a ``T.Kernel`` in it, or one that makes a ``T.prim_func``, becomes a kernel of
    `T`; `out_idx`, `target`, `pass_configs` and the like are for those (`runtime.tile.jit`).

    `do_not_specialize` names parameters of whose value nothing is compiled in. `noinline` keeps a
    called function apart in the IR. `check_uninitialised=False` is for kernels that read memory
    before it is written on purpose, and do not use what they got. `version`, `repr` and
    `launch_metadata` are accepted for Triton's sake and change nothing.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        if tile_options or _is_tile_function(function):
            with loading():
                from tilewright.runtime.tile.jit import tile_jit
            return tile_jit(function, **tile_options)
        with loading():
            from tilewright.runtime.pointer.jit import JITFunction

        return JITFunction(
            function,
            do_not_specialize=do_not_specialize or (),
            do_not_specialize_on_alignment=do_not_specialize_on_alignment or (),
            debug=bool(debug),
            noinline=bool(noinline),
            check_uninitialised=check_uninitialised is not False,
        )

    return decorate if function is None else decorate(function)
