"""Thread and block indices, barriers, fences, waits, and hints to the scheduler.

A barrier orders nothing by itself: what was written must have arrived before it. Fences are for the
compiler and for caches; those of LDS alone ("local") leave loads of global memory in flight. Their
waits are not enough: LLVM 19 drops them at the barrier of a loop, where nothing is in flight when
the loop is entered. So the waits are explicit. Where the compiler waits for everything at its
barrier builtin, the instructions are assembly.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.targets.hip.header.function import Function, device

_AXES = ("x", "y", "z")


def identity(chip: Chip) -> Mapping[str, Function]:
    """Numbers of threads, blocks, lanes and waves."""
    found: dict[str, Function] = {}
    for axis in _AXES:
        found[f"thread_{axis}"] = _index(f"thread_{axis}", f"workitem_id_{axis}()")
        found[f"block_{axis}"] = _index(f"block_{axis}", f"workgroup_id_{axis}()")
        found[f"block_dim_{axis}"] = _index(f"block_dim_{axis}", f"workgroup_size_{axis}()")
        found[f"grid_dim_{axis}"] = device(
            f"int grid_dim_{axis}()",
            f"  return int(__builtin_amdgcn_grid_size_{axis}()\n"
            f"             / __builtin_amdgcn_workgroup_size_{axis}());",
        )
    low = "__builtin_amdgcn_mbcnt_lo(~0u, 0)"
    lane = low if chip.wave == 32 else f"__builtin_amdgcn_mbcnt_hi(~0u, {low})"
    found["refresh"] = device(
        "template <int threads, typename Int>@void refresh(Int& index)",
        "  // The same value, from which the compiler has not computed anything yet.\n"
        '  asm volatile("" : "+v"(index));\n'
        "  __builtin_assume(index >= 0 && index < threads);",
    )
    found["lane"] = device("int lane()", f"  return int({lane});")
    found["wave"] = device(
        "int wave()",
        "  // The same in all lanes, and the compiler can rely on it.\n"
        "  return __builtin_amdgcn_readfirstlane(\n"
        f"      int(__builtin_amdgcn_workitem_id_x() / {chip.wave}u));",
    )
    return found


def _index(name: str, builtin: str) -> Function:
    return device(f"int {name}()", f"  return int(__builtin_amdgcn_{builtin});")


_LDS, _EVERYTHING = "local", ""
_WAIT_BITS = {_LDS: "0xc07f", _EVERYTHING: "0x0070"}
"""gfx9: lgkmcnt(0); lgkmcnt(0) and vmcnt(0)."""
_WAITS = {
    11: {
        _LDS: ("s_waitcnt lgkmcnt(0)",),
        _EVERYTHING: ("s_waitcnt vmcnt(0) lgkmcnt(0)", "s_waitcnt_vscnt null, 0x0"),
    },
    12: {
        _LDS: ("s_wait_dscnt 0x0",),
        _EVERYTHING: ("s_wait_loadcnt_dscnt 0x0", "s_wait_storecnt 0x0"),
    },
}
_BARRIERS = {11: ("s_barrier",), 12: ("s_barrier_signal -1", "s_barrier_wait -1")}


def _wait(chip: Chip, space: str) -> str:
    """Until what the wave has written, and read, has arrived."""
    if chip.generation not in _WAITS:
        return f"  __builtin_amdgcn_s_waitcnt({_WAIT_BITS[space]});"
    return _assembly(_WAITS[chip.generation][space])


def _barrier(chip: Chip, space: str) -> str:
    if chip.generation not in _WAITS:
        return f"{_wait(chip, space)}\n  __builtin_amdgcn_s_barrier();"
    return _assembly((*_WAITS[chip.generation][space], *_BARRIERS[chip.generation]))


def _assembly(instructions: tuple[str, ...]) -> str:
    text = "\\n\\t".join(instructions)
    return f'  asm volatile("{text}" ::: "memory");'


def _fenced(scope: str, between: str, space: str = "") -> str:
    given = f'"{scope}"' + (f', "{space}"' if space else "")
    return (
        f"  __builtin_amdgcn_fence(__ATOMIC_RELEASE, {given});\n"
        f"{between}\n"
        f"  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, {given});"
    )


def sync(chip: Chip) -> Mapping[str, Function]:
    """Barriers, fences and waits."""
    found = {
        "sync": device("void sync()", _fenced("workgroup", _barrier(chip, _EVERYTHING))),
        "sync_local": device("void sync_local()", _fenced("workgroup", _barrier(chip, _LDS), _LDS)),
        "wave_sync": device(
            "void wave_sync()", _fenced("wavefront", "  __builtin_amdgcn_wave_barrier();")
        ),
        "fence": device(
            "void fence()",
            f'{_wait(chip, _EVERYTHING)}\n  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");',
        ),
        "fence_block": device(
            "void fence_block()",
            f'{_wait(chip, _EVERYTHING)}\n  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");',
        ),
        "fence_system": device(
            "void fence_system()",
            f'{_wait(chip, _EVERYTHING)}\n  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");',
        ),
        "trap": device("void trap()", "  __builtin_trap();"),
    }
    if chip.direct_copy_bytes:
        # A fence of the work-group waits for copies to LDS as well, all of them. What the wave has
        # to wait for is explicit: one of the wave is enough to keep the compiler from reordering.
        found["sync_local_keeping_copies"] = device(
            "void sync_local_keeping_copies()", _fenced("wavefront", _barrier(chip, _LDS), _LDS)
        )
    if chip.generation == 9:
        # The hardware's bits: six of vmcnt, split, expcnt and lgkmcnt not waited for.
        found["wait_loads"] = device(
            "template <int pending>@void wait_loads()",
            '  static_assert(pending >= 0 && pending < 64, "the counter has six bits");\n'
            "  __builtin_amdgcn_s_waitcnt(0x0f70 | pending % 16 | pending / 16 << 14);\n"
            '  asm volatile("" ::: "memory");',
        )
    return found


HINTS: Mapping[str, Function] = {
    "prio": device("template <int level>@void prio()", "  __builtin_amdgcn_s_setprio(level);"),
    "sched_group": device(
        "template <int mask, int count, int group = 0>@void sched_group()",
        "  __builtin_amdgcn_sched_group_barrier(mask, count, group);",
    ),
    "sched_barrier": device(
        "template <int mask = 0>@void sched_barrier()", "  __builtin_amdgcn_sched_barrier(mask);"
    ),
    "iglp": device("template <int kind>@void iglp()", "  __builtin_amdgcn_iglp_opt(kind);"),
    "cycles": device("long long cycles()", "  return (long long)__builtin_readcyclecounter();"),
}
