"""Thread and block indices, barriers, fences, waits, and hints to the scheduler.

A barrier orders nothing by itself on gfx9: fences around it do. Fences of LDS alone ("local") leave
loads of global memory in flight. Where the compiler waits for all of them at its barrier builtin,
other forms are used: gfx12's signal and wait, gfx11's instruction as assembly.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.dialects.amd.chips import Chip
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


def _barrier(chip: Chip) -> str:
    if not chip.barrier_waits:
        return "  __builtin_amdgcn_s_barrier();"
    if chip.generation >= 12:
        return "  __builtin_amdgcn_s_barrier_signal(-1);\n  __builtin_amdgcn_s_barrier_wait(-1);"
    return '  asm volatile("s_waitcnt lgkmcnt(0)\\n\\ts_barrier" ::: "memory");'


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
        "sync": device("void sync()", _fenced("workgroup", _barrier(chip))),
        "sync_local": device("void sync_local()", _fenced("workgroup", _barrier(chip), "local")),
        "wave_sync": device(
            "void wave_sync()", _fenced("wavefront", "  __builtin_amdgcn_wave_barrier();")
        ),
        "fence": device("void fence()", '  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");'),
        "fence_block": device(
            "void fence_block()", '  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");'
        ),
        "trap": device("void trap()", "  __builtin_trap();"),
    }
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
