"""Whether a tensor descriptor made on the host describes memory that is there.

A descriptor is an address, extents and strides that are not compared with the underlying array: a
wrong one silently reads other memory. The rules are those of the hardware that takes
descriptors (tensor memory accelerator: the last axis is contiguous, rows and the address are
multiples of 16 bytes), and that its last element is within the array.
"""

from __future__ import annotations

from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.targets.numpy.api import Descriptor, NumpyFault
from tilewright.targets.numpy.buffers import MemoryRegion
from tilewright.targets.numpy.element_addresses import describe

CODE = "TW6110"

ALIGNMENT = 16
"""Of the address and of all strides but the last, in bytes."""


def check_descriptor(
    descriptor: Descriptor, region: MemoryRegion, sources: SourceManager | None
) -> None:
    """Raise unless the descriptor fits the region of its buffer."""
    problem = _problem(descriptor, region)
    if problem is None:
        return
    message, fix = problem
    what = f"shape {descriptor.shape} and strides {descriptor.strides}"
    diagnostic = Diagnostic(Severity.ERROR, f"descriptor of {region.name}: {message}", None, CODE)
    for text in (f"it has {what}", describe(region), fix):
        diagnostic.notes.append(Diagnostic(Severity.NOTE, text))
    raise NumpyFault(diagnostic, None, sources)


def _problem(descriptor: Descriptor, region: MemoryRegion) -> tuple[str, str] | None:
    """What is wrong and what to do about it."""
    shape, strides = descriptor.shape, descriptor.strides
    name, itemsize = region.name, region.array.itemsize
    if len(shape) != len(strides):
        return (
            f"{len(shape)} extents but {len(strides)} strides",
            "pass one stride for each extent",
        )
    if strides[-1] != 1:
        return (
            f"the last stride is {strides[-1]}, not 1",
            f"the last axis must be contiguous: pass np.ascontiguousarray({name})",
        )
    for axis, stride in enumerate(strides[:-1]):
        if stride * itemsize % ALIGNMENT:
            return (
                f"stride {axis} is {stride * itemsize} bytes, not a multiple of {ALIGNMENT}",
                f"pad the rows of {name} to a multiple of {ALIGNMENT // itemsize} elements",
            )
    if region.base % ALIGNMENT:
        return (
            f"base address is {region.base % ALIGNMENT} bytes past a multiple of {ALIGNMENT}",
            f"pass a copy of {name}, or a view that starts at a multiple of {ALIGNMENT} bytes",
        )
    return _reach(descriptor, region)


def _reach(descriptor: Descriptor, region: MemoryRegion) -> tuple[str, str] | None:
    pairs = zip(descriptor.shape, descriptor.strides, strict=True)
    last = sum((extent - 1) * stride for extent, stride in pairs)
    end = region.base + (last + 1) * region.array.itemsize
    excess = end - (region.low + region.size)
    if min(descriptor.shape, default=0) <= 0 or excess <= 0:
        return None
    elements = excess // region.array.itemsize
    return (
        f"it reaches {elements} element{'s' if elements > 1 else ''} past the end",
        f"reduce the shape or strides: {region.name} has {region.array.size} elements",
    )
