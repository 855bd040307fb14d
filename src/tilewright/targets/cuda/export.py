"""A compiled program as a directory that a C or C++ program can use without Python.

    NAME/NAME_kernel.cu       the source, to read
    NAME/NAME_kernel.cubin    the machine code
    NAME/NAME.h               a header with everything: the machine code as an array, and
                              CUresult NAME(CUstream stream, CUdeviceptr A, ...), which launches

The header needs `cuda.h` and the driver, nothing else. Names that mean something else in C are
changed: a function `main` becomes `main_launch`, a parameter `short` becomes `short_`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.targets.cuda.artefact import DeviceKernel, Program
from tilewright.targets.host.steps import Operand, Step

_C_TYPES = {
    "float32": "float",
    "float64": "double",
    "bool": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
}
_ARGUMENT_TYPES = {
    "ptr": "CUdeviceptr",
    "i1": "uint8_t",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "f16": "uint16_t",
    "bf16": "uint16_t",
    "f32": "float",
    "f64": "double",
}
_MAP_TYPES = {
    "f16": "CU_TENSOR_MAP_DATA_TYPE_FLOAT16",
    "bf16": "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16",
    "f32": "CU_TENSOR_MAP_DATA_TYPE_FLOAT32",
    "f64": "CU_TENSOR_MAP_DATA_TYPE_FLOAT64",
    "i32": "CU_TENSOR_MAP_DATA_TYPE_INT32",
    "i64": "CU_TENSOR_MAP_DATA_TYPE_INT64",
    "i16": "CU_TENSOR_MAP_DATA_TYPE_UINT16",
}
_BYTE_MAP = "CU_TENSOR_MAP_DATA_TYPE_UINT8"
_EXPANDING_MAP = "CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B"
_SWIZZLES = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}
_KEYWORDS = """
alignas alignof asm auto bool break case catch char class const constexpr continue default delete do
double else enum explicit export extern false float for friend goto if inline int long mutable
namespace new noexcept nullptr operator private protected public register restrict return short
signed sizeof static struct switch template this throw true try typedef typename typeof union
unsigned using virtual void volatile while
"""
"""Of C and C++, which may both include the header."""
_LOCALS = "stream status module extents strides box steps arguments attributes config"
"""What the function has names for."""
_TAKEN = frozenset((*_KEYWORDS.split(), *_LOCALS.split()))
_NUMBERED = re.compile(r"a\d+|v\d+(_[a-z]+)*")
"""Names of arguments of a launch, and of what the host computes."""
_BYTES_PER_LINE = 20
_NARROW_BITS = 32


@dataclass(frozen=True)
class Parameter:
    """A parameter of the function."""

    name: str
    kind: str
    dtype: str
    rank: int
    is_strided: bool = False
    """Whether it declares strides, which the C function does not take."""

    @property
    def is_tensor(self) -> bool:
        return self.kind == "tensor"

    @property
    def declaration(self) -> str:
        if self.kind == "pointer":
            return f"CUdeviceptr {self.name}"
        if not self.is_tensor:
            return f"{_C_TYPES.get(self.dtype, 'int64_t')} {self.name}"
        return f"CUdeviceptr {self.name}, const int64_t* {self.name}_shape"


def export(program: Program, name: str, parameters: Sequence[Parameter], directory: Path) -> Path:
    """Write the directory; returns the path of the header."""
    text = header_text(program, name, parameters)
    directory.mkdir(parents=True, exist_ok=True)
    for kernel, compiled in program.kernels.items():
        (directory / f"{kernel}.cu").write_text(compiled.source, encoding="utf-8")
        (directory / f"{kernel}.cubin").write_bytes(compiled.cubin)
    header = directory / f"{name}.h"
    header.write_text(text, encoding="utf-8")
    return header


def header_text(
    program: Program, name: str, parameters: Sequence[Parameter], *, code: bool = True
) -> str:
    """The header; without `code` the machine code is only declared."""
    _check_exported(program, name, parameters)
    guard = f"TILEWRIGHT_{name.upper()}_H"
    parts = [
        f"#ifndef {guard}\n#define {guard}",
        "#include <cuda.h>\n#include <stddef.h>\n#include <stdint.h>",
        '#ifdef __cplusplus\nextern "C" {\n#endif',
        *(_code(kernel, each, whole=code) for kernel, each in program.kernels.items()),
        _function(program, _function_name(name), _renamed(parameters)),
        "#ifdef __cplusplus\n}\n#endif",
        f"#endif  /* {guard} */",
    ]
    return "\n\n".join(parts) + "\n"


def _check_exported(program: Program, name: str, parameters: Sequence[Parameter]) -> None:
    """Reject programs whose arguments or memory the C function does not support."""
    strided = next((each.name for each in parameters if each.is_strided), None)
    if strided is not None:
        raise ValueError(
            f"{name}.{strided} is strided, and the exported C function takes shapes only: "
            "declare it as a contiguous T.Tensor"
        )
    if any(step.kind == "alloc" for step in program.steps):
        raise ValueError(
            f"{name} passes T.alloc_global memory between kernels, and the exported C "
            "function does not allocate: make the buffer a parameter"
        )


def _function_name(name: str) -> str:
    return f"{name}_launch" if name == "main" or name in _TAKEN else name


def _renamed(parameters: Sequence[Parameter]) -> list[Parameter]:
    """The parameters with names that nothing else in the function has."""
    found: list[Parameter] = []
    taken: set[str] = set()
    for each in parameters:
        name = each.name
        while _is_spoken_for(name) or not taken.isdisjoint((name, f"{name}_shape")):
            name += "_"
        taken.update((name, f"{name}_shape") if each.is_tensor else (name,))
        found.append(replace(each, name=name))
    return found


def _is_spoken_for(name: str) -> bool:
    return name in _TAKEN or _NUMBERED.fullmatch(name) is not None


def _code(name: str, kernel: DeviceKernel, *, whole: bool) -> str:
    if not whole:
        return f"extern const unsigned char {name}_cubin[{len(kernel.cubin)}];"
    codes = [str(each) for each in kernel.cubin]
    rows = [
        ", ".join(codes[start : start + _BYTES_PER_LINE])
        for start in range(0, len(codes), _BYTES_PER_LINE)
    ]
    joined = ",\n  ".join(rows)
    return (
        f"static const unsigned char {name}_cubin[] __attribute__((aligned(8))) = {{\n  {joined}}};"
    )


def _function(program: Program, name: str, parameters: Sequence[Parameter]) -> str:
    declared = ", ".join(["CUstream stream", *(each.declaration for each in parameters)])
    writer = _Writer(program, parameters)
    for step in program.steps:
        writer.step(step)
    lines = [*_size_checks(program, parameters), *writer.lines]
    body = "\n".join(f"  {line}" for line in lines)
    loads = "\n".join(_loaded(kernel, each) for kernel, each in program.kernels.items())
    return (
        "/* Launches on `stream`; shapes count elements, outermost first. */\n"
        f"static inline CUresult {name}({declared}) {{\n"
        "  CUresult status = CUDA_SUCCESS;\n"
        f"{loads}\n{body}\n  return status;\n}}"
    )


def _size_checks(program: Program, parameters: Sequence[Parameter]) -> list[str]:
    """Refuse tensors that the kernels have too narrow numbers for."""
    if program.index_bits > _NARROW_BITS:
        return []
    counts = [
        " * ".join(f"{each.name}_shape[{axis}]" for axis in range(each.rank))
        for each in parameters
        if each.is_tensor and each.rank
    ]
    return [f"if ({count} > INT32_MAX) return CUDA_ERROR_INVALID_VALUE;" for count in counts]


def _loaded(name: str, kernel: DeviceKernel) -> str:
    """Load a kernel once; it may have to be allowed its shared memory."""
    lines = [
        f"static CUfunction {name} = NULL;",
        f"if ({name} == NULL) {{",
        "  CUmodule module;",
        f"  if ((status = cuModuleLoadData(&module, {name}_cubin)) != CUDA_SUCCESS) return status;",
        f'  if ((status = cuModuleGetFunction(&{name}, module, "{name}")) != CUDA_SUCCESS) '
        "return status;",
        f"  if ((status = cuFuncSetAttribute({name}, "
        "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, "
        f"{kernel.metadata.shared})) != CUDA_SUCCESS) return status;",
        "}",
    ]
    return "\n".join(f"  {line}" for line in lines)


class _Writer:
    """Writes the host's steps as C."""

    def __init__(self, program: Program, parameters: Sequence[Parameter]) -> None:
        self.program = program
        self.parameters = parameters
        self.lines: list[str] = []
        self.names = {f"%{index}": each.name for index, each in enumerate(parameters)}
        self.strided: set[str] = set()
        """Views with strides of their own."""
        self.undeclared: dict[str, str] = {}
        """Arrays of extents and strides of views that nothing has used yet."""

    def _text(self, operand: Operand) -> str:
        return self.names[operand] if isinstance(operand, str) else str(operand)

    def step(self, step: Step) -> None:
        operands = [self._text(each) for each in step.operands]
        if step.kind == "launch":
            self._launch(step, operands)
            return
        if step.kind == "assert":
            self.lines.append(f"if (!({operands[0]})) return CUDA_ERROR_INVALID_VALUE;")
            return
        name = f"v{step.result.strip('%')}"
        self.names[step.result] = name
        if step.kind == "view":
            self._view(step, name, operands)
            return
        if step.kind == "at":
            source, index = operands
            bytes_ = f"(CUdeviceptr)({index} * {step.constants[0]})"
            self.lines.append(f"const CUdeviceptr {name} = {source} + {bytes_};")
            return
        if step.kind in ("dim", "map"):
            self._declare(operands[0])
        if step.kind == "map":
            self._map(step, name, operands[0])
            return
        self.lines.append(f"const int64_t {name} = {_expression(step.kind, operands)};")

    def _view(self, step: Step, name: str, operands: Sequence[str]) -> None:
        source, *given = operands
        rest = iter(given)
        extents, strides = step.constants
        shape = [str(each) if each >= 0 else next(rest) for each in extents]
        self.lines.append(f"const CUdeviceptr {name} = {source};")
        self.undeclared[f"{name}_shape"] = ", ".join(shape)
        if strides is not None:
            self.strided.add(name)
            steps = [next(rest) if each is None else str(each) for each in strides]
            self.undeclared[f"{name}_strides"] = ", ".join(steps)

    def _declare(self, view: str, *, strides: bool = False) -> None:
        """Before the first use of what a view has."""
        name = f"{view}_strides" if strides else f"{view}_shape"
        if name in self.undeclared:
            self.lines.append(f"const int64_t {name}[] = {{{self.undeclared.pop(name)}}};")

    def _map(self, step: Step, name: str, tensor: str) -> None:
        element, size, box, swizzle, _, expands = step.constants
        rank = len(box)
        inner = [f"(cuuint64_t){tensor}_shape[{axis}]" for axis in reversed(range(rank))]
        strides = self._map_strides(tensor, size, inner)
        kind = _MAP_TYPES.get(element, _BYTE_MAP)
        if expands:  # two elements of 4 bits in a byte
            inner[0], kind = f"{inner[0]} * 2", _EXPANDING_MAP
        boxes = ", ".join(str(each) for each in reversed(box))
        ones = ", ".join("1" for _ in box)
        self.lines += [
            f"CUtensorMap {name};",
            "{",
            f"  const cuuint64_t extents[] = {{{', '.join(inner)}}};",
            f"  const cuuint64_t strides[] = {{{', '.join(strides) or '0'}}};",
            f"  const cuuint32_t box[] = {{{boxes}}}, steps[] = {{{ones}}};",
            f"  status = cuTensorMapEncodeTiled(&{name}, {kind}, "
            f"{rank}, (void*){tensor}, extents, strides, box, steps,",
            f"      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_{_SWIZZLES[swizzle]}, "
            "CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);",
            "  if (status != CUDA_SUCCESS) return status;",
            "}",
        ]

    def _map_strides(self, tensor: str, size: int, inner: Sequence[str]) -> list[str]:
        """Bytes from one index to the next, of all dimensions but the innermost, that one first."""
        if tensor in self.strided:
            self._declare(tensor, strides=True)
            axes = reversed(range(len(inner) - 1))
            return [f"{size} * (cuuint64_t){tensor}_strides[{axis}]" for axis in axes]
        strides: list[str] = []
        step_bytes = str(size)
        for extent in inner[:-1]:
            step_bytes = f"{step_bytes} * {extent}"
            strides.append(step_bytes)
        return strides

    def _launch(self, step: Step, operands: Sequence[str]) -> None:
        x, y, z, *given = operands
        name = step.constants[0]
        metadata = self.program.kernels[name].metadata
        self.lines.append("{")
        pointers: list[str] = []
        for index, (kind, text) in enumerate(zip(metadata.parameters, given, strict=True)):
            if kind == "tensormap":
                pointers.append(f"&{text}")
                continue
            kind_ = _ARGUMENT_TYPES.get(kind, "int32_t")
            self.lines.append(f"  {kind_} a{index} = ({kind_}){text};")
            pointers.append(f"&a{index}")
        self.lines += [
            f"  void* arguments[] = {{{', '.join(pointers)}}};",
            "  CUlaunchAttribute attributes[3];",
            "  CUlaunchConfig config = {0};",
            f"  config.gridDimX = {x}; config.gridDimY = {y}; config.gridDimZ = {z};",
            f"  config.blockDimX = {metadata.threads}; config.blockDimY = 1; config.blockDimZ = 1;",
            f"  config.sharedMemBytes = {metadata.shared}; config.hStream = stream;",
            "  config.attrs = attributes; config.numAttrs = 0;",
        ]
        if metadata.cluster != (1, 1, 1):
            cx, cy, cz = metadata.cluster
            self.lines += [
                "  attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;",
                *(
                    f"  attributes[config.numAttrs].value.clusterDim.{axis} = {size};"
                    for axis, size in (("x", cx), ("y", cy), ("z", cz))
                ),
                "  ++config.numAttrs;",
            ]
        if metadata.cooperative:
            self.lines += [
                "  attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;",
                "  attributes[config.numAttrs].value.cooperative = 1;",
                "  ++config.numAttrs;",
            ]
        if metadata.pdl:
            name_of = "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION"
            self.lines += [
                f"  attributes[config.numAttrs].id = {name_of};",
                "  attributes[config.numAttrs].value.programmaticStreamSerializationAllowed = 1;",
                "  ++config.numAttrs;",
            ]
        self.lines += [
            "  if (config.gridDimX && config.gridDimY && config.gridDimZ)",
            f"    status = cuLaunchKernelEx(&config, {name}, arguments, NULL);",
            "  if (status != CUDA_SUCCESS) return status;",
            "}",
        ]


def _expression(kind: str, operands: Sequence[str]) -> str:
    if kind == "dim":
        return f"{operands[0]}_shape[{operands[1]}]"
    if kind == "select":
        condition, one, other = operands
        return f"{condition} ? {one} : {other}"
    a, b = operands
    if kind in ("min", "max"):
        return f"{a} {'<' if kind == 'min' else '>'} {b} ? {a} : {b}"
    if kind == "ceildiv":
        return f"({a} + {b} - 1) / {b}"
    return f"{a} / {b}" if kind == "floordiv" else f"{a} {kind} {b}"
