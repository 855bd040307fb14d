"""A configuration of a `T` kernel as an item of work: its IR, and how it is compiled and measured.

What travels is JSON: the IR in generic form, which has all locations, and the parameters as
the wrapper has them. A worker makes the same kernel and returns its predicted or measured time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.prim_func import Param, PrimFunc
from tilewright.language.T.symbols import Computed, Size, Symbol
from tilewright.runtime.tile.input_generators import TensorSupplyType
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.trials import ProfileArgs, Workbench
from tilewright.runtime.tuning import headline
from tilewright.targets.compilers import received

if TYPE_CHECKING:
    pass

WORK = "tilewright.runtime.tile.tuning_items:tried"
MODEL, TIME = "model", "time"


def described(kernel: CompiledTileKernel, how: str, profile: ProfileArgs) -> dict[str, Any]:
    """The item that measures a kernel."""
    prim_func = kernel.prim_func
    return {
        "name": prim_func.name,
        "module": print_module(prim_func.module, generic=True, locations=True),
        "params": [_param(each) for each in prim_func.params],
        "returned": prim_func.returned,
        "how": how,
        **kernel.recipe(),
        "profile": {
            "warmup": profile.warmup,
            "rep": profile.rep,
            "backend": profile.backend,
            "supply_type": profile.supply_type.name,
        },
    }


def tried(item: Mapping[str, Any]) -> dict[str, Any]:
    """The time of a kernel in milliseconds and what is remarked about it, or what is wrong."""
    kernel = CompiledTileKernel(
        _prim_func(item),
        item["out_idx"] or None,
        target=item["target"],
        pass_configs=item["pass_configs"],
        compile_flags=item["compile_flags"],
    )
    try:
        if item["how"] == MODEL:
            return predicted(kernel)
        profile = dict(item["profile"])
        profile["supply_type"] = TensorSupplyType[profile["supply_type"]]
        kernel.build()
        Workbench(ProfileArgs(**profile)).measure(kernel)
    except Exception as error:  # of this configuration: the next one may do
        return {"fault": headline(error)}
    return {"latency": kernel.latency, "remark": ""}


def predicted(kernel: CompiledTileKernel) -> dict[str, Any]:
    """The time according to the cost model of the target."""
    assert kernel.tenstorrent is not None, "only this target has a model"
    costs = kernel.tenstorrent.costs
    latency = sum(float(each.total) / each.clock_ghz for each in costs) / 1e6
    return {"latency": latency, "remark": "; ".join(str(each) for each in costs)}


# -- parameters ----------------------------------------------------------------------------------


def _param(param: Param) -> dict[str, Any]:
    return {
        "name": param.name,
        "kind": param.kind,
        "dtype": str(param.dtype),
        "shape": [_encoded(each) for each in param.shape],
        "strides": None if param.strides is None else [_encoded(each) for each in param.strides],
        "is_output": param.is_output,
    }


def _encoded(size: Size) -> Any:
    """A number, ``[name, dtype, is constant]``, or ``{"operator": …, "parts": […]}``."""
    if isinstance(size, int):
        return size
    if isinstance(size, Symbol):
        return [size.name, str(size.dtype), size.is_constant]
    if isinstance(size, Computed):
        return {"operator": size.operator, "parts": [_encoded(size.left), _encoded(size.right)]}
    raise TypeError(f"the size {size} cannot be sent to another process")


def _decoded(size: Any) -> Size:
    if isinstance(size, int):
        return size
    if isinstance(size, list):
        name, dtype, is_constant = cast("list[Any]", size)
        return Symbol(name, Dtype(dtype), is_constant)
    left, right = size["parts"]
    return Computed(size["operator"], _decoded(left), _decoded(right))


def _prim_func(item: Mapping[str, Any]) -> PrimFunc:
    params = tuple(
        Param(
            name=each["name"],
            kind=each["kind"],
            dtype=Dtype(each["dtype"]),
            shape=tuple(map(_decoded, each["shape"])),
            strides=None if each["strides"] is None else tuple(map(_decoded, each["strides"])),
            is_output=each["is_output"],
        )
        for each in item["params"]
    )
    returned = None if item["returned"] is None else tuple(item["returned"])
    return PrimFunc(
        item["name"], received(item["module"], DiagnosticEngine()), params, "", returned=returned
    )
