"""The one module that talks to Triton.

Triton is driven as its own compiler drives it: a context, a module parsed from text, pass managers,
and the stages of its NVIDIA or AMD backend. What its releases differ in is a row of `releases`;
everything else here holds for all of them.

    way       first text          what runs
    short     TTIR of ours        the complete pipeline of Triton
    authored  TTGIR of ours       `Release.finish_ttgir`, then LLVM IR, PTX, machine code; for AMD
                                  `Release.finish_amd`, then LLVM IR, assembly, code object

NVIDIA's assembler is called by us (`ptxas`), with the flags the release would use: what it reports
about registers is part of the metadata. AMD's is part of Triton, and its text has them (`amdgcn`).
MLIR writes its diagnostics to standard error; `processes`, through which others call `build`, reads
them there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias, cast

from tilewright.targets.metadata import WARP_SIZE, TensorMapSpec
from tilewright.targets.triton import amdgcn
from tilewright.targets.triton.installation import installed, release
from tilewright.targets.triton.ptxas import Assembled, assemble
from tilewright.targets.triton.releases import (
    AMD_ARCH,
    CAPABILITY,
    IS_AMPERE_UP,
    KPACK,
    MATRIX_SIZE,
    PassCall,
)

Way = Literal["short", "authored"]
FunctionAttributes: TypeAlias = "str | tuple[tuple[str, str], ...] | None"
"""Attributes for LLVM of an AMD kernel: pairs, or ``name=value,name``."""

_AMPERE = 80
_MAX_NUM_REGISTERS = "ttg.maxnreg"

_SWIZZLE_BYTES = (0, 32, 64, 128)
# `CUtensorMapDataType` of the driver, where the numbers in device code are others.
_HOST_DATA_TYPES: Mapping[int, int] = {8: 10, 9: 8, 10: 9}


@dataclass(frozen=True)
class BuildOptions:
    """What a caller may choose, under the names Triton has for it."""

    arch: int | str
    """The compute capability, or the name of an AMD architecture."""
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    enable_fp_fusion: bool = True
    debug: bool = False
    waves_per_eu: int | None = None
    matrix_instr_nonkdim: int | None = None
    kpack: int | None = None
    llvm_fn_attrs: FunctionAttributes = None
    warp_size: int = WARP_SIZE

    @property
    def is_cuda(self) -> bool:
        return isinstance(self.arch, int)

    @property
    def capability(self) -> int:
        """The compute capability; 0 of an AMD GPU."""
        return self.arch if isinstance(self.arch, int) else 0

    def for_triton(self) -> dict[str, Any]:
        names = (*_TRITON_OPTIONS, *(_CUDA_OPTIONS if self.is_cuda else _HIP_OPTIONS))
        named = {name: getattr(self, name) for name in names}
        return {name: value for name, value in named.items() if value is not None}


_TRITON_OPTIONS = ("num_warps", "num_stages", "num_ctas", "enable_fp_fusion", "debug")
_CUDA_OPTIONS = ("maxnreg",)
_HIP_OPTIONS = ("waves_per_eu", "matrix_instr_nonkdim", "kpack", "llvm_fn_attrs")


class TritonRefused(Exception):
    """A stage failed; why in detail stands on standard error."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(stage, reason)
        self.stage = stage
        self.reason = reason


@dataclass(frozen=True)
class Built:
    """What the stages gave."""

    stages: Mapping[str, str | bytes]
    """``ttgir.final``, ``llir``, ``ptx`` and ``cubin`` (AMD: ``amdgcn``, ``hsaco``); on the short
    way ``ttir.final`` too."""
    name: str
    num_warps: int
    shared: int
    tmem: int
    scratch: tuple[int, int]
    """Bytes for each CTA, and their alignment."""
    profile: tuple[int, int]
    tensor_maps: tuple[TensorMapSpec, ...]
    assembled: Assembled


@dataclass(frozen=True)
class _Triton:
    """The parts of Triton that are used. It has no types, so they are `Any`."""

    library: Any
    make_backend: Callable[[Any], Any]
    gpu_target: Callable[..., Any]
    languages: Any
    nvidia_compiler: Any
    amd_compiler: Any


@cache
def _triton() -> _Triton:
    installed()
    import triton.backends.amd.compiler as amd  # pyright: ignore[reportMissingTypeStubs]
    import triton.backends.compiler as backends  # pyright: ignore[reportMissingTypeStubs]
    import triton.backends.nvidia.compiler as nvidia  # pyright: ignore[reportMissingTypeStubs]
    import triton.compiler.compiler as compiler  # pyright: ignore[reportMissingTypeStubs]
    from triton._C import libtriton  # pyright: ignore[reportMissingTypeStubs]

    return _Triton(
        libtriton,
        cast("Any", compiler).make_backend,
        cast("Any", backends).GPUTarget,
        cast("Any", backends).Language,
        nvidia,
        amd,
    )


def build(text: str, way: Way, options: BuildOptions, path: Path) -> Built:
    """Machine code of `text`, which the file `path` has for Triton to read."""
    _triton()
    try:
        job = _Build(way, options, path)
    except (AssertionError, TypeError, ValueError) as error:
        raise TritonRefused("options", str(error)) from error
    return job.run(text)


class _Build:
    """One compilation."""

    def __init__(self, way: Way, options: BuildOptions, path: Path) -> None:
        self.triton = _triton()
        self.release, _ = release()
        self.way = way
        self.options = options
        self.path = path
        vendor = "cuda" if options.is_cuda else "hip"
        target = self.triton.gpu_target(vendor, options.arch, options.warp_size)
        self.backend = self.triton.make_backend(target)
        self.parsed = self.backend.parse_options(options.for_triton())
        self.metadata: dict[str, Any] = {"target": target, "hash": "", **self.parsed.__dict__}
        self.stages: dict[str, Callable[[Any, dict[str, Any]], Any]] = {}
        self.backend.add_stages(self.stages, self.parsed, self.triton.languages.TRITON)

    def run(self, text: str) -> Built:
        results: dict[str, str | bytes] = {}
        module = self._stage("parse", lambda: self._parse(text))
        if self.way == "short":
            module = self._stage("ttir", lambda: self.stages["ttir"](module, self.metadata))
            results["ttir.final"] = str(module)
            module = self._stage("ttgir", lambda: self.stages["ttgir"](module, self.metadata))
        else:
            module = self._stage("ttgir", lambda: self._finish(module))
        results["ttgir.final"] = str(module)
        llir = self._stage("llir", lambda: self.stages["llir"](module, self.metadata))
        results["llir"] = llir
        done = self._cubin(llir, results) if self.options.is_cuda else self._hsaco(llir, results)
        return self._built(results, done)

    def _cubin(self, llir: str, results: dict[str, str | bytes]) -> Assembled:
        ptx = self._stage("ptx", lambda: self.stages["ptx"](llir, self.metadata))
        done = self._assemble(ptx)
        results.update(ptx=ptx, cubin=done.code)
        return done

    def _hsaco(self, llir: str, results: dict[str, str | bytes]) -> Assembled:
        text = self._stage("amdgcn", lambda: self.stages["amdgcn"](llir, self.metadata))
        code = self._stage("hsaco", lambda: self.stages["hsaco"](text, self.metadata))
        results.update(amdgcn=text, hsaco=code)
        version = self.triton.amd_compiler.get_amd_codegen_revision()
        return self._stage("metadata", lambda: amdgcn.described(code, text, version))

    def _stage(self, name: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exception as error:
            raise TritonRefused(name, str(error)) from error

    def _parse(self, text: str) -> Any:
        ir = self.triton.library.ir
        context = ir.context()
        ir.load_dialects(context)
        self.backend.load_dialects(context)
        module = self._read(text, lambda path: ir.parse_mlir_module(str(path), context))
        # The stages reach the context through the module, which must also keep it alive.
        module.context = context
        return module

    def _read(self, text: str, parse: Callable[[Path], Any]) -> Any:
        if self.path.exists():
            try:
                return parse(self.path)
            except Exception:
                if self.path.exists():
                    raise
        # Another process cleared the cache.
        with TemporaryDirectory(prefix="tilewright-") as scratch:
            path = Path(scratch) / self.path.name
            path.write_text(text, encoding="utf-8")
            return parse(path)

    def _finish(self, module: Any) -> Any:
        if self.options.maxnreg is not None:
            builder = self.triton.library.ir.builder(module.context)
            module.set_attr(_MAX_NUM_REGISTERS, builder.get_int32_attr(self.options.maxnreg))
        manager = self.triton.library.ir.pass_manager(module.context)
        manager.enable_debug()
        text = str(module)
        for call in self._finishing_passes():
            if self._applies(call, text):
                self._add(call, manager)
        manager.run(module, "finish_ttgir")
        self.metadata["tensordesc_meta"] = module.get_tensordesc_metadata()
        return module

    def _finishing_passes(self) -> tuple[PassCall, ...]:
        if self.options.is_cuda:
            return self.release.finish_ttgir
        if self.release.finish_amd is None:
            raise ValueError(
                f"tlx kernels for AMD need Triton 3.9 or later, this is {self.release.name}"
            )
        return self.release.finish_amd

    def _applies(self, call: PassCall, text: str) -> bool:
        if self.options.is_cuda and self.options.capability < call.min_capability:
            return False
        return (
            not call.only_with or re.search(rf"\b{re.escape(call.only_with)}\b", text) is not None
        )

    def _add(self, call: PassCall, manager: Any) -> None:
        library = self.triton.library
        for part in call.module.split("."):
            library = getattr(library, part)
        meanings = {
            CAPABILITY: self.options.capability,
            IS_AMPERE_UP: self.options.capability >= _AMPERE,
            AMD_ARCH: self.options.arch,
            MATRIX_SIZE: self.options.matrix_instr_nonkdim or 0,
            KPACK: self.options.kpack or 1,
        }
        arguments = [meanings.get(cast("str", each), each) for each in call.arguments]
        getattr(library, call.name)(manager, *arguments)

    def _assemble(self, ptx: str) -> Assembled:
        tool = self.triton.nvidia_compiler.get_ptxas(self.options.capability)
        arch = self.triton.nvidia_compiler.sm_arch_from_capability(self.options.capability)
        flags = list(self.release.ptxas_flags)
        if not self.options.enable_fp_fusion:
            flags.append("--fmad=false")
        extra = self.parsed.ptx_options
        flags += extra.split() if extra else []
        return assemble(ptx, Path(tool.path), arch, flags, str(tool.version))

    def _built(self, results: dict[str, str | bytes], done: Assembled) -> Built:
        known = self.metadata
        return Built(
            results,
            name=known["name"],
            num_warps=known["num_warps"],
            shared=known["shared"] or 0,
            tmem=known.get("tmem_size") or 0,
            scratch=_memory(known, "global_scratch"),
            profile=_memory(known, "profile_scratch"),
            tensor_maps=tuple(map(_tensor_map, known.get("tensordesc_meta") or ())),
            assembled=done,
        )


def _memory(metadata: Mapping[str, Any], name: str) -> tuple[int, int]:
    return metadata.get(f"{name}_size") or 0, metadata.get(f"{name}_align") or 1


def _tensor_map(found: Mapping[str, Any]) -> TensorMapSpec:
    kind = int(found["elem_type"])
    return TensorMapSpec(
        element_bytes=found["elem_size"],
        box=tuple(found["block_size"]),
        swizzle_bytes=_SWIZZLE_BYTES[int(found["swizzle"])],
        cuda_type=_HOST_DATA_TYPES.get(kind, kind),
        fp4_padded=bool(found["fp4_padded"]),
    )
