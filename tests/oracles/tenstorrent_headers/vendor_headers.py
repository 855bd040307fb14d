"""Parse kernels against the vendor's real headers, with the host compiler and a few stubs.

The kernel is only parsed (`-fsyntax-only`). Without the macros TRISC_UNPACK, TRISC_MATH and
TRISC_PACK the bodies of the compute API expand to nothing, while signatures, templates and static
assertions stay: an unknown call, a wrong arity, a missing include or a wrong type is an error. The
order or meaning of arguments of one type is not seen; `call_roles` checks that.

The checkout is named by TILEWRIGHT_TT_METAL.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.dialects.tensix.chips import ChipSpec
from tilewright.targets.tenstorrent.program import KernelSource, Processor
from tilewright.targets.tenstorrent.source.toolchain import compiler

VARIABLE = "TILEWRIGHT_TT_METAL"
_SECONDS = 120

_COMMON_DEFINES = {
    "KERNEL_BUILD": "1",
    "TENSIX_FIRMWARE": "1",
    "LOCAL_MEM_EN": "0",
    "DISPATCH_MESSAGE_ADDR": "0",
    "NUM_DRAM_BANKS": "12",
    "NUM_L1_BANKS": "64",
    "LOG_BASE_2_OF_NUM_L1_BANKS": "6",
    "IS_NOT_POW2_NUM_DRAM_BANKS": "1",
    "PCIE_NOC_X": "0",
    "PCIE_NOC_Y": "3",
    "PROGRAMMABLE_CORE_TYPE": "0",
}
_MOVEMENT_DEFINES = {
    "COMPILE_FOR_BRISC": "1",
    "NOC_INDEX": "0",
    "NOC_MODE": "0",
    "PROCESSOR_INDEX": "0",
    "MY_NOC_ENCODING(n)": "0",
}
_COMPUTE_DEFINES = {
    "COMPILE_FOR_TRISC": "1",
    "PROCESSOR_INDEX": "2",
    "DST_ACCUM_MODE": "0",
    "DST_SYNC_MODE": "0",
    "MATH_FIDELITY": "4",
    "APPROX": "0",
}
_DESCRIPTORS = """#pragma once
#include <cstdint>
inline constexpr unsigned char unpack_src_format[64] = {};
inline constexpr unsigned char unpack_dst_format[64] = {};
inline constexpr unsigned char pack_src_format[64] = {};
inline constexpr unsigned char pack_dst_format[64] = {};
inline constexpr uint16_t unpack_tile_size[64] = {};
inline constexpr uint8_t unpack_tile_num_faces[64] = {};
inline constexpr uint8_t unpack_tile_face_r_dim[64] = {};
inline constexpr uint8_t unpack_tile_r_dim[64] = {};
inline constexpr uint8_t unpack_tile_c_dim[64] = {};
"""
# Replay instructions of the vendor's compiler, which Blackhole's headers include everywhere.
_REPLAY = """#pragma once
namespace lltt {
enum ExecBool : bool { NoExec, Exec };
template <ExecBool = NoExec, typename... T> inline void record(T...) {}
template <typename... T> inline void replay(T...) {}
template <typename... T> constexpr unsigned replay_insn(T...) { return 0; }
}
"""


@dataclass(frozen=True)
class Arch:
    """Directory names of one architecture in the checkout."""

    define: str
    hardware: str
    library: str
    kernels: str


ARCHES = {
    "wormhole_b0": Arch("ARCH_WORMHOLE", "wormhole", "tt_llk_wormhole_b0", "wormhole_b0"),
    "sim": Arch("ARCH_WORMHOLE", "wormhole", "tt_llk_wormhole_b0", "wormhole_b0"),
    "blackhole": Arch("ARCH_BLACKHOLE", "blackhole", "tt_llk_blackhole", "blackhole"),
}


class MissingCheckout(RuntimeError):
    """No checkout of the vendor's tree is known."""


@dataclass(frozen=True)
class HeaderCheck:
    """The result of parsing one kernel."""

    kernel: str
    errors: tuple[str, ...] = field(default=())

    @property
    def accepted(self) -> bool:
        """Whether the headers accept the kernel."""
        return not self.errors


def checkout() -> Path:
    """The vendor's tree.

    Raises:
        MissingCheckout: if the variable is not set or names no such tree.
    """
    root = os.environ.get(VARIABLE)
    if not root:
        raise MissingCheckout(f"{VARIABLE} is not set: name a checkout of tenstorrent/tt-metal")
    path = Path(root)
    if not (path / "tt_metal" / "hw" / "inc" / "api").is_dir():
        raise MissingCheckout(f"{VARIABLE}={root} has no tt_metal/hw/inc/api")
    return path


def include_paths(root: Path, arch: Arch) -> tuple[Path, ...]:
    """Include directories, in the order of the vendor's build."""
    metal = root / "tt_metal"
    hardware = f"hw/inc/internal/tt-1xx/{arch.hardware}"
    kernels = f"hw/ckernels/{arch.kernels}/metal"
    below = (
        *("hw/inc", "hw/inc/internal", "hw/inc/hostdev", "hw/inc/internal/tt-1xx"),
        *(hardware, f"{hardware}/{arch.kernels}_defines", f"{hardware}/noc"),
        *(f"tt-llk/{arch.library}/common/inc", f"tt-llk/{arch.library}/llk_lib"),
        *(f"{kernels}/common", f"{kernels}/llk_io", f"{kernels}/llk_api"),
        f"{kernels}/llk_api/llk_sfpu",
    )
    rest = ("api", "api/tt-metalium", "hostdevcommon/api", "tt-llk/common", "hw/firmware/src")
    return (*(metal / each for each in below), root, metal, *(metal / each for each in rest))


def _argument_defines(words: Sequence[int], named: Mapping[str, int]) -> dict[str, str]:
    listed = ",".join(str(word) for word in words) if words else "0"
    pairs = ",".join(f"{{{json.dumps(k)},{v}}}" for k, v in named.items())
    return {
        "KERNEL_COMPILE_TIME_ARGS": listed,
        **({"KERNEL_COMPILE_TIME_ARG_MAP": pairs} if pairs else {}),
    }


def check_kernel(
    kernel: KernelSource, chip: ChipSpec, words: Sequence[int], root: Path
) -> HeaderCheck:
    """Parse `kernel`, with these compile-time words, against the headers below `root`."""
    arch = ARCHES[chip.arch]
    is_compute = kernel.processor is Processor.COMPUTE
    defines = {
        arch.define: "1",
        **_COMMON_DEFINES,
        **(_COMPUTE_DEFINES if is_compute else _MOVEMENT_DEFINES),
        **_argument_defines(words, kernel.named_compile_args),
        **kernel.defines,
    }
    with tempfile.TemporaryDirectory(prefix="tilewright-tt-headers-") as name:
        stubs = Path(name)
        (stubs / "chlkc_descriptors.h").write_text(_DESCRIPTORS, encoding="utf-8")
        (stubs / "lltt.h").write_text(_REPLAY, encoding="utf-8")
        (stubs / "entry.h").write_text("void kernel_main();\n", encoding="utf-8")
        source = stubs / f"{kernel.name}.cpp"
        prefix = "" if is_compute else '#include "api/dataflow/dataflow_api.h"\n'
        source.write_text(f"{prefix}#line 1\n{kernel.source}", encoding="utf-8")
        command = [
            *(compiler().path, "-std=c++17", "-fsyntax-only", "-w", "-fpermissive"),
            *("-include", "internal/risc_attribs.h", "-include", "hostdevcommon/kernel_structs.h"),
            *("-include", "entry.h", f"-I{stubs}"),
            *(f"-I{path}" for path in include_paths(root, arch)),
            *(f"-D{key}={value}" for key, value in defines.items()),
            str(source),
        ]
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    if result.returncode == 0:
        return HeaderCheck(kernel.name)
    lines = result.stderr.splitlines()
    errors = tuple(line for line in lines if "error:" in line)
    return HeaderCheck(kernel.name, errors or tuple(lines[:3]) or ("the compiler failed",))
