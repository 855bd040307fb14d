"""The judge of our text: Triton itself, reading IR and finishing the compilation.

`canonical_text` is Triton's own print of what it parsed, the form our printer aims for. It does not
depend on how the text broke its lines, so two texts of one module have one canonical text.
`build` goes on from there and runs the backend's remaining stages: the same program, the same bytes.

    text kind      first stage run     result
    source.ttir    ttir                cubin (NVIDIA) or hsaco (AMD) bytes,
    ttir           ttgir               line information included
    source.ttgir   ttgir, as Gluon's
    ttgir          llir

Why `build` starts from the canonical text: a loop-carried value has no place to print its location
and takes its position in the parsed text, which can end in the line information. With the lines
settled first, it is the same position for every way to write the module.

Why the work is done in an empty scratch folder, under a fixed file name: no machine path reaches
the result, and the assembler for sm_80 would write into it the age and size of every source file
that a location names and the working directory holds.
"""

import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from triton._C.libtriton import amd, ir, nvidia
from triton.backends.compiler import Language
from triton.compiler.compiler import make_backend

from .case import TARGETS

_FIRST_STAGE: Mapping[str, str] = {
    "source.ttir": "ttir",
    "source.ttgir": "ttgir",
    "ttir": "ttgir",
    "ttgir": "llir",
}
_FILE_NAME = "kernel.mlir"
_working_directory = threading.Lock()


def build(text: str, kind: str, target: str, options: Mapping[str, Any] | None = None) -> bytes:
    """The machine code Triton makes of a text for a target named in `case.TARGETS`."""
    if kind not in _FIRST_STAGE:
        raise ValueError(f"no stage follows a text of kind {kind!r}; known: {list(_FIRST_STAGE)}")
    settled = canonical_text(text)
    gpu = TARGETS[target]
    backend = make_backend(gpu)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with _scratch_directory():
        module = _parse(settled, context)
        wanted = {"enable_fp_fusion": True, **(options or {}), **_options_in(module)}
        parsed = backend.parse_options(wanted)
        stages: dict[str, Any] = {}
        language = Language.GLUON if kind == "source.ttgir" else Language.TRITON
        backend.add_stages(stages, parsed, language)
        names = list(stages)
        metadata = {"target": gpu, "hash": "", **parsed.__dict__}
        result: Any = module
        for name in names[names.index(_FIRST_STAGE[kind]) :]:
            result = stages[name](result, metadata)
    return result


def canonical_text(text: str) -> str:
    """Triton's print, with locations, of the module it parsed from a text of any target."""
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    amd.load_dialects(context)
    with _scratch_directory():
        return str(_parse(text, context))


def _parse(text: str, context: ir.context) -> ir.module:
    Path(_FILE_NAME).write_text(text)
    module = ir.parse_mlir_module(_FILE_NAME, context)
    # The stages reach the context through the module, which must also keep it alive.
    module.context = context
    return module


def _options_in(module: ir.module) -> dict[str, int]:
    """Options that TTGIR states as module attributes; a front end cannot overrule them."""
    stated = {
        option: module.get_int_attr(attribute)
        for option, attribute in (("num_warps", "ttg.num-warps"), ("num_ctas", "ttg.num-ctas"))
    }
    return {option: value for option, value in stated.items() if value is not None}


@contextmanager
def _scratch_directory() -> Iterator[None]:
    with _working_directory, tempfile.TemporaryDirectory() as scratch:
        before = Path.cwd()
        os.chdir(scratch)
        try:
            yield
        finally:
            os.chdir(before)
