"""The address analysis of a kernel as it is launched: with its real grid, numbers and arrays.

    report = tw.analyze(add, (x, y, out, n), grid=(8,), BLOCK=128)
    print(report)                    # one line a value, an address or an access
    report.accesses[0].coalesced

Nothing is run. The kernel is compiled as for a launch, and what a launch would pass becomes
inputs of the analysis: integers are values, arrays are buffers of so many bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.analysis.pid_address import (
    AccessProperties,
    AddressReport,
    AnalysisError,
    analyze_tile,
)
from tilewright.analysis.pid_address import analyze as analyze_ir
from tilewright.analysis.pid_address.checks import (
    ALL_CHECKS,
    Check,
    Finding,
    Settings,
    run_checks,
)
from tilewright.dialects.tt import FuncOp
from tilewright.ir.hints import name_hint_of
from tilewright.ir.text.locations import find_name
from tilewright.ir.text.names import ValueNames
from tilewright.ir.traversal import walk
from tilewright.runtime.arrays import HostArray, host_array
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.descriptors import TensorDescriptor
from tilewright.runtime.grid import Grid, launch_grid
from tilewright.runtime.launchable import Launchable
from tilewright.runtime.memory_extents import Aliases, Memory, aliases_of, extent_of
from tilewright.runtime.pointer.compiled import CompiledKernel
from tilewright.runtime.specialise import CONSTEXPR, Key, key_of

if TYPE_CHECKING:
    from tilewright.runtime.tile.addresses import TileLaunch

EVERY_CHECK = "all"


@dataclass(frozen=True)
class CheckedReport(AddressReport):
    """What is known about the accesses of a kernel, and what checks found."""

    findings: tuple[Finding, ...] = ()

    @staticmethod
    def of(report: AddressReport, findings: Sequence[Finding]) -> CheckedReport:
        known = {each.name: getattr(report, each.name) for each in fields(AddressReport)}
        return CheckedReport(**known, findings=tuple(findings))


def analyze(
    kernel: Launchable | Operation | Any,
    args: Sequence[Any] | Mapping[str, Any] = (),
    grid: Grid | None = None,
    *,
    launch: int | None = None,
    check: Sequence[str] = (),
    assume: Sequence[str] = (),
    strict_overflow: bool = False,
    timeout: float | None = None,
    **named: Any,
) -> CheckedReport:
    """Explain every memory access of `kernel` as a function of the program id.

    `args` are those of a launch, in order or by name, and `named` further ones by name; a kernel
    that is IR takes integers by name. Without a grid the number of programs is unknown. `check`
    names checks to make (``coalesce vector bounds race overflow prefetch``), `assume` conditions
    that hold (``"n % 128 == 0"``). Raises ``AnalysisError`` if the assumptions cannot hold.

    A kernel of `T` (compiled, traced, or under ``@tw.jit``) takes the tensors of a call and has its
    own grid; if a call launches several kernels, `launch` selects one.
    """
    tile = _tile_launch(kernel, args, named, grid, launch)
    if tile is not None:
        properties = replace(
            tile.properties, assumptions=tuple(assume), strict_overflow=strict_overflow
        )
        return _checked(analyze_tile(tile.kernel, properties), tile.aliases, check, timeout)
    by_name = {**args, **named} if isinstance(args, Mapping) else dict(named)
    in_order = () if isinstance(args, Mapping) else tuple(args)
    if isinstance(kernel, Operation):
        root, properties = kernel, _given(by_name, in_order, grid)
        aliases = Aliases()
    else:
        compiled = kernel.warmup(*in_order, **by_name)
        values = _values(compiled, in_order, by_name)
        sizes = None if grid is None else _sizes(kernel, compiled, grid, values)
        root = named_module(compiled)
        properties = launch_properties(compiled, root, sizes, values)
        aliases = launch_aliases(compiled, root, values)
    properties = AccessProperties(
        properties.grid, properties.args, properties.buffers, tuple(assume), strict_overflow
    )
    return _checked(analyze_ir(root, properties), aliases, check, timeout)


def _checked(
    report: AddressReport, aliases: Aliases, check: Sequence[str], timeout: float | None
) -> CheckedReport:
    settings = Settings(
        timeout=timeout, may_alias=aliases.overlapping, same_start=aliases.same_start
    )
    return CheckedReport.of(report, run_checks(report, checks_named(check), settings))


def _tile_launch(
    kernel: Any,
    args: Sequence[Any] | Mapping[str, Any],
    named: Mapping[str, Any],
    grid: Grid | None,
    index: int | None,
) -> TileLaunch | None:
    """The launch of a kernel of `T` that is meant; None for kernels of other kinds."""
    from tilewright.runtime.tile.addresses import called_launches

    launches = called_launches(kernel, args, named)
    if launches is None:
        return None
    if grid is not None:
        raise AnalysisError("a T kernel has its own grid: omit grid")
    if index is None and len(launches) != 1:
        names = ", ".join(each.kernel.name for each in launches) or "none"
        raise AnalysisError(f"the call launches {len(launches)} kernels ({names}): pass launch=0")
    if not 0 <= (index or 0) < len(launches):
        raise AnalysisError(f"launch={index}: the call launches {len(launches)} kernels")
    return launches[index or 0]


def checks_named(names: Sequence[str]) -> tuple[Check, ...]:
    """Checks by name, each once; ``all`` is every one. Raises ``AnalysisError``."""
    known = [check.value for check in ALL_CHECKS]
    for name in names:
        if name not in known and name != EVERY_CHECK:
            raise AnalysisError(
                f"unknown check '{name}'; expected {', '.join(known)} or {EVERY_CHECK}"
            )
    return tuple(check for check in ALL_CHECKS if check in names or EVERY_CHECK in names)


def _given(
    by_name: Mapping[str, Any], in_order: Sequence[Any], grid: Grid | None
) -> AccessProperties:
    if in_order:
        raise TypeError("IR takes its arguments by name: args={'n': 1000}")
    if callable(grid):
        raise TypeError("IR has no arguments to compute a grid from: pass its sizes")
    sizes = (grid,) if isinstance(grid, int) else grid
    return AccessProperties(None if sizes is None else tuple(sizes), dict(by_name))


def _values(
    compiled: CompiledKernel, in_order: Sequence[Any], by_name: Mapping[str, Any]
) -> list[object]:
    """One value per parameter, as a launch would hand them over."""
    bound = {**dict(zip(compiled.kernel.arg_names, in_order, strict=False)), **by_name}
    values: list[object] = []
    for parameter, key in zip(compiled.kernel.parameters, compiled.keys, strict=True):
        if key[0] == CONSTEXPR:
            # Chosen by tuning or heuristics, perhaps.
            values.append(key[1])
        else:
            value = bound.get(parameter.name, parameter.default)
            values.append(key_of(value, parameter)[1])
    return values


def _sizes(
    kernel: Launchable, compiled: CompiledKernel, grid: Grid, values: Sequence[object]
) -> tuple[int, int, int]:
    bound = dict(zip(compiled.kernel.arg_names, values, strict=True))
    return launch_grid(grid, bound, kernel)


# The values of a launch.


def named_module(compiled: CompiledKernel) -> ModuleOp:
    """The kernel's IR, its values named as in the user's text."""
    module = compiled.module.clone()
    for op in walk(module):
        for result in op.results[:1]:
            _take_name(result, op.location)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    _take_name(argument, argument.location)
    return module


def _take_name(value: SSAValue, location: Attribute) -> None:
    name = name_hint_of(find_name(location))
    if name is not None:
        value.name_hint = name


def launch_properties(
    compiled: CompiledKernel,
    module: ModuleOp,
    grid: tuple[int, int, int] | None,
    values: Sequence[object],
) -> AccessProperties:
    """Grid, integers and sizes of buffers, by the names that arguments have in `module`."""
    integers: dict[str, int] = {}
    buffers: dict[str, int] = {}
    for name, value in _arguments(compiled, module, values):
        if isinstance(value, int):
            integers[name] = int(value)
        elif isinstance(value, Memory) and value.count is not None:
            buffers[name] = value.count
    return AccessProperties(grid, integers, buffers)


def launch_aliases(compiled: CompiledKernel, module: ModuleOp, values: Sequence[object]) -> Aliases:
    """Which arrays of a launch overlap, as those of a kernel that works in place."""
    found = [
        (name, value)
        for name, value in _arguments(compiled, module, values)
        if isinstance(value, Memory) and value.low < value.high
    ]
    return aliases_of(found)


def _arguments(
    compiled: CompiledKernel, module: ModuleOp, values: Sequence[object]
) -> Iterator[tuple[str, object]]:
    """The arguments of the function by name, with what a launch passes for each."""
    function = next(
        op for op in walk(module) if isinstance(op, FuncOp) and op.sym_name.data == compiled.name
    )
    names = ValueNames(module, names_from_locations=False, use_hints=True)
    arguments = [
        argument
        for key, value in zip(compiled.keys, values, strict=True)
        for argument in _flat(key, value)
    ]
    for argument, value in zip(function.args, arguments, strict=True):
        yield names.of(argument), value


def _flat(key: Key, value: Any) -> Iterator[object]:
    """What one parameter contributes to the arguments of the function."""
    kind = key[0]
    if kind == CONSTEXPR:
        return
    if kind == "tuple":
        for inner, item in zip(key[2:], value, strict=True):
            yield from _flat(inner, item)
    elif kind == "tensordesc":
        descriptor = cast("TensorDescriptor", value)
        yield extent_of(host_array(descriptor.base).array)
        yield from (int(each) for each in (*descriptor.shape, *descriptor.strides))
    elif kind.startswith("*"):
        if isinstance(value, DeviceArray):
            value = host_array(value.owner)
        yield extent_of(value.array if isinstance(value, HostArray) else value)
    else:
        yield value


def launch_text(
    compiled: CompiledKernel, grid: tuple[int, int, int], values: Sequence[object]
) -> str:
    """``add[8, 1, 1](n=1000, BLOCK=128)``: a launch, with the arguments that can be written."""
    shown = [
        f"{name}={value}"
        for name, value in zip(compiled.kernel.arg_names, values, strict=True)
        if isinstance(value, int | float)
    ]
    return f"{compiled.name}[{', '.join(map(str, grid))}]({', '.join(shown)})"
