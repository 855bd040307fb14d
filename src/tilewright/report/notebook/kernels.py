"""Kernels in a notebook: what they are, what was compiled of them, and their source.

Showing a kernel compiles nothing and runs nothing: there is what is known already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tilewright.frontend.errors import FrontendError
from tilewright.report.notebook import html
from tilewright.report.notebook.cells import cell_name

if TYPE_CHECKING:
    from tilewright.frontend.functions.function import KernelFunction
    from tilewright.runtime.pointer.compiled import CompiledKernel
    from tilewright.runtime.pointer.jit import JITFunction
    from tilewright.runtime.tile.jit import TileJIT
    from tilewright.runtime.tile.kernel import CompiledTileKernel

_METADATA = ("num_warps", "num_ctas", "num_stages")
_MAX_LISTED = 20
"""Compiled kernels that are listed; the newest ones."""


def jit_function_html(kernel: JITFunction) -> str:
    """A kernel of `tl` or `tlx`."""
    compiled = list(kernel.cache.values())
    names = ", ".join(kernel.arg_names)
    return html.block(
        html.title(f"{kernel.name}[grid]({names})", _where(kernel)),
        _compiled_table(
            (_arguments(each), str(each.choice), _options(each)) for each in compiled[-_MAX_LISTED:]
        ),
        _more(len(compiled)),
        _source(kernel),
    )


def compiled_kernel_html(kernel: CompiledKernel) -> str:
    """A kernel of `tl` or `tlx` for one kind of arguments."""
    rows = [(name, kind) for name, kind in kernel.signature.items() if name not in kernel.constants]
    rows += [(name, f"constexpr = {value!r}") for name, value in kernel.constants.items()]
    return html.block(
        html.title(kernel.name, f"compiled for {kernel.choice}; {_options(kernel)}"),
        html.table(("parameter", "type"), rows),
        _artefact(kernel),
        _report(kernel.last_report),
        _source(kernel.kernel),
    )


def tile_jit_html(kernel: TileJIT) -> str:
    """A kernel of `T`, or a function that makes kernels."""
    function = kernel.function
    compiled = list(kernel.cache.values())
    name = function.__name__
    kind = "kernel" if kernel.is_eager else "makes kernels"
    code = function.__code__
    return html.block(
        html.title(
            f"{name}{kernel.signature}",
            f"{kind}; {cell_name(code.co_filename)}:{code.co_firstlineno}",
        ),
        _compiled_table(
            (_params(each), each.target, _configs(each)) for each in compiled[-_MAX_LISTED:]
        ),
        _more(len(compiled)),
    )


def tile_kernel_html(kernel: CompiledTileKernel) -> str:
    """A kernel of `T` for fixed shapes."""
    rows = [
        (param.name, _kind(param), "result" if index in kernel.out_idx else "")
        for index, param in enumerate(kernel.params)
    ]
    source = kernel.prim_func.source
    return html.block(
        html.title(kernel.name, f"compiled for {kernel.target}{_configs(kernel, '; ')}"),
        html.table(("parameter", "type", ""), rows),
        _report(kernel.report),
        html.details("source", html.preformatted(source.rstrip())) if source else "",
    )


def _compiled_table(rows: Iterable[tuple[str, str, str]]) -> str:
    return html.table(("compiled for", "target", "options"), rows)


def _more(count: int) -> str:
    hidden = count - _MAX_LISTED
    if hidden > 0:
        return html.paragraph(f"and {hidden} more")
    return html.paragraph("nothing is compiled yet") if not count else ""


def _where(kernel: KernelFunction) -> str:
    return f"{cell_name(kernel.file)}:{kernel.first_line}"


def _source(kernel: KernelFunction) -> str:
    try:
        text = kernel.source
    except FrontendError as error:
        return html.paragraph(error.message)
    return html.details("source", html.numbered(text.rstrip().split("\n"), kernel.first_line))


def _arguments(kernel: CompiledKernel) -> str:
    constants = kernel.constants
    return ", ".join(
        f"{name}={constants[name]!r}" if name in constants else f"{name}: {kind}"
        for name, kind in kernel.signature.items()
    )


def _options(kernel: CompiledKernel) -> str:
    known = ((name, kernel.metadata.get(name)) for name in _METADATA)
    return ", ".join(f"{name}={value}" for name, value in known if value is not None)


def _artefact(kernel: CompiledKernel) -> str:
    if kernel.artefact is None:
        return ""
    return html.paragraph(f"machine code: {', '.join(kernel.artefact.asm)}")


def _params(kernel: CompiledTileKernel) -> str:
    return ", ".join(f"{param.name}: {_kind(param)}" for param in kernel.params)


def _kind(param: Any) -> str:
    shape = ", ".join(map(str, param.shape))
    return f"{param.dtype}[{shape}]" if param.kind == "tensor" else str(param.dtype)


def _configs(kernel: CompiledTileKernel, before: str = "") -> str:
    config = kernel.config or {}
    text = ", ".join(f"{name}={value}" for name, value in config.items())
    return before + text if text else ""


def _report(report: Any) -> str:
    """What the last run on the host did."""
    if report is None:
        return ""
    return html.paragraph(f"last run on the CPU: {report.programs} programs")
