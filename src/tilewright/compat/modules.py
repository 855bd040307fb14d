"""The modules and names of Triton, and the object of Tilewright that serves each.

A row of `MODULES` is one module of Triton; `tilelang_modules` has those of TileLang. Its `names`
give the object of Tilewright that replaces Triton's, as ``module:name``;
modules in `mirrors` lend all their public names. Objects are imported on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

VERSION = "3.9.0"
"""The release of Triton whose language and interfaces are offered."""


@dataclass(frozen=True)
class Offer:
    """What one module consists of here."""

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    mirrors: tuple[str, ...] = ()
    is_open: bool = False
    """Whether names that are not offered can be imported all the same, and are refused when used:
    for modules about the compiler itself, of which files import more than they need."""


def names_from(module: str, names: str) -> dict[str, str]:
    """Names that are the same in `module`."""
    return {name: f"{module}:{name}" for name in names.split()}


def joined(*parts: Mapping[str, str]) -> dict[str, str]:
    """All of `parts` in one."""
    return {name: target for part in parts for name, target in part.items()}


_KERNELS = "tilewright.compat.kernels"
_TUNING = joined(
    names_from(_KERNELS, "Autotuner Heuristics autotune heuristics"),
    names_from("tilewright.runtime.config", "Config"),
)
_JIT = joined(
    names_from(_KERNELS, "JITFunction KernelInterface jit"),
    names_from("tilewright.compat.arguments", "MockTensor TensorWrapper reinterpret"),
    names_from("tilewright.language.tl.aggregates", "aggregate"),
    names_from("tilewright.language.tl.constexpr", "constexpr_function"),
    names_from("tilewright.compat.dtype_names", "type_canonicalisation_dict"),
)
_DRIVER = names_from("tilewright.compat.driver", "driver")
_RUN_ERRORS = names_from("tilewright.compat.errors", "InterpreterError OutOfResources")
_COMPILE_ERRORS = names_from(
    "tilewright.compat.errors",
    "CompilationError CompileTimeAssertionFailure UnsupportedLanguageConstruct",
)
_COMPILED = names_from(_KERNELS, "CompiledKernel")
_TARGET = names_from("tilewright.compat.driver", "GPUTarget")
_COMPILING = "tilewright.compat.compiling"
_SOURCES = names_from(_COMPILING, "ASTSource compile triton_key")
_TESTING = "tilewright.compat.internal_testing"
_PROFILER = "tilewright.compat.profiler"

_TL = "tilewright.language.tl"
_LANGUAGE = Offer(mirrors=(_TL,))
_TLX = "tilewright.language.tlx"
_TLX_PRIVATE = "_alloc_clc_responses _clc_issue _clc_query _to_mxfp8_block"
_TLX_LANGUAGE = Offer(names_from(_TLX, _TLX_PRIVATE), mirrors=(_TLX,))
"""The parts of TLX are one here: each of its modules has all names."""


def _part(*names: str) -> Offer:
    return Offer(mirrors=tuple(f"{_TL}.{name}" for name in names))


_TLX_PARTS = (
    "async_task_utils",
    "barrier",
    "dynamic_launch",
    "mem_ops",
    "mma_ops",
    "mxfp8_utils",
    "types",
    "utility",
    "warp_ops",
    "warp_pipeline",
)

MODULES: Mapping[str, Offer] = {
    "triton": Offer(
        joined(
            _TUNING,
            _JIT,
            _RUN_ERRORS,
            names_from("tilewright.compat.errors", "CompilationError TritonError"),
            names_from("tilewright.compat.allocation", "set_allocator"),
            names_from("tilewright.compat.compiling", "compile"),
            names_from(f"{_TL}.core", "must_use_result"),
            names_from("tilewright.runtime.integers", "cdiv next_power_of_2"),
        )
    ),
    "triton._C": Offer(),
    "triton._C.libtriton": Offer(names_from("tilewright.compat.blas", "nvidia")),
    "triton._filecheck": Offer(
        names_from(_COMPILING, "filecheck_test run_filecheck run_filecheck_test run_parser")
    ),
    "triton._internal_testing": Offer(
        names_from(_TESTING, "_fresh_knobs_impl"),
        mirrors=("tilewright.compat.hardware", _TESTING),
    ),
    "triton._utils": Offer(mirrors=("tilewright.compat.dtype_names",)),
    "triton.backends": Offer(names_from("tilewright.compat.driver", "backends")),
    "triton.backends.compiler": Offer(_TARGET),
    "triton.compiler": Offer(joined(_COMPILED, _SOURCES, _COMPILE_ERRORS)),
    "triton.compiler.code_generator": Offer(names_from(_COMPILING, "CodeGenerator")),
    "triton.compiler.compiler": Offer(joined(_COMPILED, _SOURCES, _TARGET)),
    "triton.compiler.errors": Offer(_COMPILE_ERRORS),
    "triton.errors": Offer(names_from("tilewright.compat.errors", "TritonError")),
    "triton.knobs": Offer(mirrors=("tilewright.compat.knobs",)),
    "triton.language": _LANGUAGE,
    "triton.language.core": Offer(
        names_from(
            f"{_TL}.core",
            "CONSTEXPR_0 _aggregate _unwrap_if_constexpr builtin extern extern_elementwise "
            "get_int_dtype must_use_result",
        ),
        mirrors=(_TL,),
    ),
    "triton.language.extra": Offer(),
    "triton.language.extra.cuda": _part("extra.cuda"),
    "triton.language.extra.cuda.inline_ptx_lib": Offer(
        names_from(
            f"{_TL}.extra.cuda.inline_ptx_lib",
            "_add_f32x2 _fma_f32x2 _mul_f32x2 _reduce_fadd2 _sub_f32x2 tanh_approx_fp32",
        )
    ),
    "triton.language.extra.cuda.libdevice": _part("extra.cuda.libdevice"),
    "triton.language.extra.hip": _part("extra.hip"),
    "triton.language.extra.hip.libdevice": _part("extra.hip.libdevice"),
    "triton.language.extra.libdevice": _part("extra.libdevice"),
    "triton.language.extra.subtile_ops": Offer(
        names_from(f"{_TL}.extra.subtile_ops", "_join_n_2D _split_n_2D")
    ),
    "triton.language.extra.tlx": _TLX_LANGUAGE,
    **{f"triton.language.extra.tlx.{part}": _TLX_LANGUAGE for part in _TLX_PARTS},
    "triton.language.extra.tlx.warp_spec": Offer(mirrors=(f"{_TLX}.warp_spec",)),
    "triton.language.math": _part("math"),
    "triton.language.random": _part("random"),
    "triton.language.standard": Offer(
        names_from(f"{_TL}.standard", "_get_int_dtype _is_power_of_two _log2"), mirrors=(_TL,)
    ),
    "triton.language.target_info": _part("target_info"),
    "triton.profiler": Offer(mirrors=(_PROFILER,)),
    "triton.profiler.language": Offer(mirrors=(f"{_PROFILER}_language",)),
    "triton.profiler.viewer": Offer(names_from(_PROFILER, "parse print_tree read")),
    "triton.runtime": Offer(joined(_TUNING, _JIT, _DRIVER, _RUN_ERRORS)),
    "triton.runtime._allocation": Offer(
        names_from("tilewright.compat.allocation", "_allocator _profile_allocator"),
        mirrors=("tilewright.compat.allocation",),
    ),
    "triton.runtime.autotuner": Offer(joined(_TUNING, _RUN_ERRORS)),
    "triton.runtime.cache": Offer(names_from(_COMPILING, "triton_key")),
    "triton.runtime.driver": Offer(
        names_from("tilewright.compat.driver", "active driver reset_active set_active")
    ),
    "triton.runtime.errors": Offer(
        joined(_RUN_ERRORS, names_from("tilewright.compat.errors", "AutotunerError PTXASError"))
    ),
    "triton.runtime.jit": Offer(_JIT),
    "triton.testing": Offer(
        joined(
            names_from("tilewright.compat.testing", "assert_close do_bench do_bench_cudagraph"),
            names_from("tilewright.compat.benchmarks", "Benchmark Mark perf_report"),
        )
    ),
    "triton.tools": Offer(),
    "triton.tools.mxfp": Offer(names_from("tilewright.compat.mxfp", "MXFP4Tensor MXScaleTensor")),
    "triton.tools.tensor_descriptor": Offer(
        names_from("tilewright.compat.arguments", "TensorDescriptor")
    ),
}


@dataclass(frozen=True)
class Project:
    """A package that scripts import, and what is offered of it."""

    name: str
    title: str
    version: str
    modules: Mapping[str, Offer]
    commit: str = ""
    """The commit that is followed, of a package which changes faster than its version."""
    absent: tuple[str, ...] = ()
    """Modules of that commit, with all inside them, that are not offered but can be imported."""

    def has(self, module: str) -> bool:
        """Whether `module` is this package or inside it."""
        return module == self.name or module.startswith(f"{self.name}.")

    def is_absent(self, module: str) -> bool:
        """Whether `module` can be imported although it is not offered."""
        return any(module == each or module.startswith(f"{each}.") for each in self.absent)

    def children(self, module: str) -> Iterable[str]:
        """The modules directly inside `module`, by their last name."""
        prefix = f"{module}."
        for name in self.modules:
            rest = name.removeprefix(prefix)
            if rest != name and "." not in rest:
                yield rest


TRITON = Project("triton", "Triton", VERSION, MODULES)
