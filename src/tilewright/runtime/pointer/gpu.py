"""Machine code for a kernel of the JIT: from disk if it is there, else traced and compiled.

Two keys lead to an artefact on disk. That of the kernel function (`fingerprint`, the arguments, the
options, the versions) needs no tracing, and is tried first. That of the IR is tried after tracing:
it finds the artefact again when a kernel moved to another file or was renamed around.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tilewright.frontend.captures import Capture
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.runtime.fingerprint import Fingerprint, Nameless
from tilewright.runtime.specialise import Key, flattened
from tilewright.targets import store
from tilewright.targets.triton import installation
from tilewright.targets.triton.artefact import Artefact, read_artefact

if TYPE_CHECKING:
    from tilewright.runtime.cuda.launcher import Launcher
    from tilewright.runtime.pointer.compiled import CompiledKernel

_KIND: Final = "kernels"
_ARTEFACT = "artefact"
_HOPPER = 90

Captured = tuple[Capture, ...]

# Tracing and our passes run one at a time; Triton's part runs in processes beside.
_preparing = threading.Lock()


def build(compiled: CompiledKernel) -> tuple[Artefact, Captured]:
    """The machine code of `compiled`, and the names around the kernel it depends on."""
    named = _name(compiled)
    if named is not None:
        key, captured = named
        found = _stored(key)
        if found is not None:
            return found, captured
    artefact = _compiled(compiled)
    if named is not None:
        store.store(_KIND, named[0], {_ARTEFACT: artefact.key.encode()})
    return artefact, compiled.traced.captured


def _name(compiled: CompiledKernel) -> tuple[str, Captured] | None:
    """The key of the kernel function with these arguments, where it has one."""
    fingerprint = Fingerprint()
    try:
        fingerprint.add(compiled.kernel)
        fingerprint.add(compiled.keys)
        options = ((name, value) for name, value in compiled.metadata.items() if name != "target")
        fingerprint.add(tuple(options))  # what the target comes down to is in `choice`
    except Nameless:
        return None
    machine = f"{compiled.choice} {compiled.settings} {sys.version} {sys.flags.optimize}"
    versions = (installation.fingerprint(), store.our_version())
    return store.digest(fingerprint.text, machine, *versions), tuple(fingerprint.captured)


def _stored(key: str) -> Artefact | None:
    entry = store.load(_KIND, key)
    return None if entry is None else read_artefact(entry.get(_ARTEFACT, b"").decode("latin-1"))


def _compiled(compiled: CompiledKernel) -> Artefact:
    # The passes and dialects of the way to TTGIR; a warm start does without.
    from tilewright.targets.triton.compile import prepare
    from tilewright.targets.triton.lowering import CompileOptions

    options = compiled.metadata
    settings = CompileOptions(
        compiled.choice.machine.arch,
        num_warps=options["num_warps"],
        num_stages=options["num_stages"],
        num_ctas=options["num_ctas"],
        cluster=_cluster(options["ctas_per_cga"]),
        maxnreg=options["maxnreg"],
        enable_fp_fusion=options["enable_fp_fusion"],
        debug=options["debug"],
        cooperative=options["launch_cooperative_grid"],
        pdl=options["launch_pdl"],
        waves_per_eu=options["waves_per_eu"],
        matrix_instr_nonkdim=options["matrix_instr_nonkdim"],
        kpack=options["kpack"],
        llvm_fn_attrs=options["llvm_fn_attrs"],
    )
    with _preparing:
        ready = prepare(compiled.module, settings, DiagnosticEngine())
    return ready if isinstance(ready, Artefact) else ready.build()


def _cluster(sizes: Sequence[int] | None) -> tuple[int, int, int] | None:
    if sizes is None:
        return None
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return x, y, z


# -- launch --------------------------------------------------------------------------------------


def launcher_of(artefact: Artefact) -> Launcher:
    """The machine code loaded into the GPU, ready to be launched."""
    from tilewright.runtime.cuda.launcher import Launcher
    from tilewright.runtime.cuda.module import load

    metadata = artefact.metadata
    function = load(artefact.cubin, metadata.name, metadata.shared, cluster=metadata.cluster)
    return Launcher(function, metadata)


def flat_values(compiled: CompiledKernel, values: Sequence[Any]) -> list[Any]:
    """`values`, one a parameter of the kernel function, as parameters of the machine code."""
    if compiled.choice.machine.is_cuda_from(_HOPPER):
        return flatten(compiled.keys, values)
    flags = installation.release()[0].descriptor_flags

    def without_map(descriptor: Any) -> tuple[Any, ...]:
        """GPUs without TMA get descriptors as a pointer, extents and strides."""
        sizes = (*descriptor.shape, *descriptor.strides)
        truths = (descriptor.padding == "nan", False)[:flags]
        return (descriptor.base, *sizes, *truths, *sizes)

    return list(flattened(compiled.keys, values, without_map))


def flatten(keys: Sequence[Key], values: Sequence[Any]) -> list[Any]:
    """`values`, one for each of `keys`, as `Launcher` takes them.

    A tensor descriptor has its tensor map, then its shape, then its strides.
    """
    return list(flattened(keys, values, lambda each: (each, *each.shape, *each.strides)))
