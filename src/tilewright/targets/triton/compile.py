"""From a module of ours to an artefact: the text of every stage, a cubin, and its launch metadata.

    artefact = compile_module(module, capability=90)

No GPU is needed. `lowering` selects the passes for a module; the adapter's process does the rest.
What Triton or the assembler has to object to is reported at the user's line; registers, spills and
memory are remarks. What was compiled before comes from disk.

Tracing and our passes run one at a time, Triton's part runs beside them: `prepare` is the first
half, `Job.build` the second.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tt import FuncOp
from tilewright.ir.codes.shared import UNKNOWN_TARGET
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.targets import store
from tilewright.targets.triton import installation, processes
from tilewright.targets.triton.adapter import BuildOptions, Built, FunctionAttributes
from tilewright.targets.triton.artefact import Artefact, detached, read_artefact, write_artefact
from tilewright.targets.triton.describe import metadata_of, remarks_on
from tilewright.targets.triton.lowering import CompileOptions, Kind, kind_of, lower
from tilewright.targets.triton.messages import ASSEMBLER, REFUSED, TritonMessage
from tilewright.targets.triton.ptxas import PtxasFailed

UNKNOWN_RELEASE = "TW6204"
NOT_ONE_KERNEL = "TW6207"

_SHOWN_LINES = 8
_UNKNOWN_PROCESSOR = "is not a recognized processor for this target"
"""What LLVM prints of an architecture."""
_UNSUPPORTED_TARGET = "unsupported target"
"""What Triton's passes for AMD report of one."""
_UNKNOWN_TO_PTXAS = "is not defined for option 'gpu-name'"


def compile_module(
    module: ModuleOp,
    *,
    capability: int | str,
    num_warps: int = 4,
    num_stages: int = 3,
    num_ctas: int = 1,
    cluster: tuple[int, int, int] | None = None,
    maxnreg: int | None = None,
    enable_fp_fusion: bool = True,
    debug: bool = False,
    cooperative: bool = False,
    pdl: bool = False,
    waves_per_eu: int | None = None,
    matrix_instr_nonkdim: int | None = None,
    kpack: int | None = None,
    llvm_fn_attrs: FunctionAttributes = None,
    engine: DiagnosticEngine | None = None,
) -> Artefact:
    """Machine code of the kernel in `module`, which stays as it is.

    `capability` is 90 for sm_90, or the name of an AMD architecture, gfx942.
    Errors are raised as one `CompileError` with every diagnostic; with an `engine` of the caller,
    remarks arrive there too.
    """
    options = CompileOptions(
        capability,
        num_warps,
        num_stages,
        num_ctas,
        cluster,
        maxnreg,
        enable_fp_fusion,
        debug,
        cooperative,
        pdl,
        waves_per_eu,
        matrix_instr_nonkdim,
        kpack,
        llvm_fn_attrs,
    )
    return compile_with(module, options, engine or DiagnosticEngine())


def compile_with(module: ModuleOp, options: CompileOptions, engine: DiagnosticEngine) -> Artefact:
    """As `compile_module`, with the options as one value."""
    ready = prepare(module, options, engine)
    return ready if isinstance(ready, Artefact) else ready.build()


def prepare(module: ModuleOp, options: CompileOptions, engine: DiagnosticEngine) -> Artefact | Job:
    """What is on disk for `module`, or else what is left to do for it."""
    kernel = _kernel_of(module, engine)
    traced = print_module(module)
    kind = kind_of(module)
    lowered = module.clone()
    with engine.capture() as log:
        _note_unknown_release(engine)
        lower(lowered, kind, options, engine)
    text = installation.spelling_of(print_module, lowered)
    key = store.digest(
        text, kind, repr(asdict(options)), installation.fingerprint(), store.our_version()
    )
    found = read_artefact(key)
    diagnostics = log.diagnostics if found is None else found.remarks
    for diagnostic in diagnostics:
        engine.emit(diagnostic)
    if found is not None:
        return found
    stages = (
        {"ttir": traced} if kind == "plain" else {"ttir": traced, "ttgir": print_module(lowered)}
    )
    return Job(
        key,
        text,
        kind,
        options,
        options.for_build(lowered),
        kernel,
        stages,
        tuple(diagnostics),
        engine,
    )


@dataclass(frozen=True)
class Job:
    """A kernel that Triton has to finish."""

    key: str
    text: str
    kind: Kind
    options: CompileOptions
    build_options: BuildOptions
    kernel: FuncOp
    stages: dict[str, str]
    diagnostics: tuple[Diagnostic, ...]
    engine: DiagnosticEngine

    def build(self) -> Artefact:
        """The artefact, also on disk; raises `CompileError`."""
        built = self._built()
        metadata = metadata_of(built, self.kernel, self.options, self.engine)
        remarks = [*self.diagnostics, *remarks_on(built, metadata, self.kernel, self.engine)]
        artefact = Artefact(
            built.name,
            {**self.stages, **built.stages},
            metadata,
            self.key,
            tuple(map(detached, remarks)),
        )
        write_artefact(artefact)
        return artefact

    def _built(self) -> Built:
        way = "short" if self.kind == "plain" else "authored"
        built: Built | None = None
        try:
            with store.text_file(self.key, self.text) as path:
                self.engine.sources.add(str(path), self.text)
                built, output = processes.build(self.text, way, self.build_options, path)
            self._pass_on(output)
        except processes.Failed as failed:
            self._report(failed)
        except PtxasFailed as failed:
            if _UNKNOWN_TO_PTXAS in str(failed):
                self._refuse_architecture()
            else:
                self.engine.error(self.kernel, f"the assembler failed: {failed}", ASSEMBLER)
        self.engine.raise_if_errors()
        assert built is not None
        return built

    def _pass_on(self, output: TritonMessage) -> None:
        for each in output.diagnostics:
            where = self.kernel.location if each.location is None else each.location
            self.engine.emit(replace(each, location=where))

    def _report(self, failed: processes.Failed) -> None:
        """Triton's own errors, or, where it has none, where it stopped."""
        messages = (each.message for each in failed.output.diagnostics)
        if any(message.startswith(_UNSUPPORTED_TARGET) for message in messages):
            self._refuse_architecture()
            return
        self._pass_on(failed.output)
        if self.engine.has_errors:
            return
        if _UNKNOWN_PROCESSOR in failed.output.other:
            self._refuse_architecture()
            return
        text = f"Triton failed in {failed.stage}: {failed.reason}"
        found = self.engine.error(self.kernel, text, REFUSED)
        # LLVM repeats some of its lines for every function.
        shown = list(dict.fromkeys(failed.output.other.strip().splitlines()))[:_SHOWN_LINES]
        if shown:
            found.note(None, "its output:\n" + "\n".join(shown))

    def _refuse_architecture(self) -> None:
        release, arch = installation.installed(), self.options.target.arch_name
        example = "sm_90" if self.options.target.is_cuda else "gfx942"
        text = (
            f"Triton {release} has no target {arch}: use another one, for example triton:{example}"
        )
        self.engine.error(self.kernel, text, UNKNOWN_TARGET)


def _note_unknown_release(engine: DiagnosticEngine) -> None:
    row, is_exact = installation.release()
    if not is_exact:
        engine.remark(
            None,
            f"Triton {installation.installed()} has not been tested with this Tilewright: "
            f"treated as Triton {row.name}",
            UNKNOWN_RELEASE,
        )


def _kernel_of(module: ModuleOp, engine: DiagnosticEngine) -> FuncOp:
    kernels = [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.is_public]
    if len(kernels) != 1:
        names = ", ".join(f"@{op.sym_name.data}" for op in kernels) or "none"
        engine.error(
            module,
            f"expected a module with one public function, found {names}",
            NOT_ONE_KERNEL,
        )
        engine.raise_if_errors()
    return kernels[0]
