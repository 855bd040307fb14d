"""Tasks: regions, replicas, registers, what they capture, and what stands outside of them."""

import re

import pytest

from tests.language.tlx.ours import text_of
from tilewright.ir.diagnostics import CompileError

SIGNATURE = {"x": "*fp32", "y": "*fp32", "n": "i32", "m": "i32"}


def _text(body: str, **options: object) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return text_of(f"@jit\ndef kernel(x, y, n, m):\n{lines}", SIGNATURE, **options)


def _op(text: str) -> str:
    return next(line.strip() for line in text.splitlines() if "ttg.warp_specialize(" in line)


def _partitions(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if re.match(r"\s*partition\d+\(", line)]


TWO = """
with tlx.async_tasks({tasks}):
    with tlx.async_task("default"{default}):
        tl.store(x, 1.0)
    with tlx.async_task({task}):
        tl.store(y + n, 2.0)
"""


def _two(task: str = "num_warps=4", tasks: str = "", default: str = "", **options: object) -> str:
    return _text(TWO.format(task=task, tasks=tasks, default=default), **options)


def test_captures_are_what_partitions_read_by_name() -> None:
    """Neither `x`, which only the default task reads, nor `m`, which nobody does."""
    text = _two()
    assert _op(text) == "ttg.warp_specialize(%arg2, %arg1)"
    assert _partitions(text) == ["partition0(%arg4: i32, %arg5: !tt.ptr<f32>) num_warps(4) {"]
    assert "tt.store %arg0, %cst : !tt.ptr<f32>" in text
    assert "tt.addptr %arg5, %arg4 : !tt.ptr<f32>, i32" in text
    assert text.rstrip().splitlines()[-4].strip() == "} : (i32, !tt.ptr<f32>) -> ()"


def test_constants_are_not_captured() -> None:
    text = _text("""
k: tl.constexpr = 3
with tlx.async_tasks():
    with tlx.async_task("default"):
        tl.store(x, 1.0)
    with tlx.async_task(num_warps=4):
        tl.store(y + k, 2.0)
""")
    assert _op(text) == "ttg.warp_specialize(%arg1)"


def test_a_name_that_a_task_reuses_is_captured_as_it_is_outside() -> None:
    """As in TLX, reading a name is enough, even if the task gave it a value of its own first."""
    text = _text("""
k = n + 1
with tlx.async_tasks():
    with tlx.async_task("default"):
        tl.store(x, 1.0)
    with tlx.async_task(num_warps=4):
        k = m
        tl.store(y + k, 2.0)
""")
    assert _op(text) == "ttg.warp_specialize(%0, %arg3, %arg1)"
    assert "tt.addptr %arg6, %arg5" in text


def test_what_a_task_assigns_ends_with_it() -> None:
    text = _text("""
k = n
with tlx.async_tasks():
    with tlx.async_task("default"):
        k = m
        tl.store(x + k, 1.0)
    with tlx.async_task(num_warps=4):
        tl.store(y + k, 2.0)
tl.store(x + k, 3.0)
""")
    assert _op(text) == "ttg.warp_specialize(%arg2, %arg1)"
    last = [line for line in text.splitlines() if "tt.addptr" in line][-1]
    assert "tt.addptr %arg0, %arg2" in last
    with pytest.raises(CompileError, match="k is not defined"):
        _text("""
with tlx.async_tasks():
    with tlx.async_task("default"):
        k = m
    with tlx.async_task(num_warps=4):
        tl.store(y, 2.0)
tl.store(x + k, 3.0)
""")


def test_descriptors_are_captured_whole() -> None:
    text = text_of("""
        @jit
        def kernel(d, x):
            with tlx.async_tasks():
                with tlx.async_task("default"):
                    tl.store(x, 1.0)
                with tlx.async_task(num_warps=1):
                    d.store([0, 0], tl.zeros((16, 16), tl.float16))
    """, {"d": "tensordesc<fp16[16,16]>", "x": "*fp32"})  # fmt: skip
    assert _op(text) == "ttg.warp_specialize(%arg0, %arg1, %arg2, %arg3, %arg4)"


def test_tensors_cannot_be_captured() -> None:
    with pytest.raises(CompileError) as caught:
        _text("""
o = tl.arange(0, 64)
with tlx.async_tasks():
    with tlx.async_task("default"):
        tl.store(x, 1.0)
    with tlx.async_task(num_warps=4):
        tl.store(y + o, 2.0)
""")
    assert "WarpSpecializeOp should not capture RankedTensorType. Try moving tensor" in str(
        caught.value
    )


def test_a_task_may_use_the_name_of_a_tensor_outside() -> None:
    text = _text("""
o = tl.arange(0, 64)
tl.store(x + o, 0.0)
with tlx.async_tasks():
    with tlx.async_task("default"):
        tl.store(x, 1.0)
    with tlx.async_task(num_warps=4):
        o = tl.arange(0, 32)
        tl.store(y + o, 2.0)
""")
    assert _op(text) == "ttg.warp_specialize(%arg1)"


def test_replicas() -> None:
    text = _text("""
with tlx.async_tasks():
    with tlx.async_task("default", replicate=2, num_regs=64):
        tl.store(x + tlx.async_task_replica_id(), 1.0)
    with tlx.async_task(num_warps=2, registers=24, replicate=3):
        tl.store(y + 10 * (tlx.async_task_replica_id() + 1), 2.0)
""", num_warps=8)  # fmt: skip
    registers = "requestedRegisters = array<i32: 64, 24, 24, 24>"
    assert registers in _op(text)
    assert "defaultRequestedRegisters = 64 : i32" in _op(text)
    warps = [re.search(r"num_warps\((\d)\)", line)[1] for line in _partitions(text)]  # type: ignore[index]
    assert warps == ["8", "2", "2", "2"]
    used = re.findall(r"%c(\d+)_i32\w* = arith.constant", text)
    assert used == ["0", "1", "10", "20", "30"]


def test_attributes() -> None:
    op = _op(
        _two(
            "num_warps=4, warp_group_start_id=4",
            "exclusive=True, no_ending_cluster_sync=True, mbarrier_try_wait_suspend_ns=20",
        )
    )
    for part in (
        "tlx.exclusive",
        "tlx.no_ending_cluster_sync",
        "tlx.mbarrier_try_wait_suspend_ns = 20 : i32",
        "warpGroupStartIds = array<i32: 4>",
    ):
        assert part in op
    assert "Registers" not in op


def test_replicas_have_warps_one_behind_the_other() -> None:
    op = _op(_two("num_warps=2, replicate=2, warp_group_start_id=6"))
    assert "warpGroupStartIds = array<i32: 6, 8>" in op


def test_conditions_decide_which_tasks_there_are() -> None:
    source = """
        @jit
        def kernel(x, y, HELP: tl.constexpr):
            with tlx.async_tasks():
                with tlx.async_task("default"):
                    tl.store(x, 1.0)
                if HELP:
                    with tlx.async_task(num_warps=4):
                        tl.store(y, 2.0)
    """
    signature = {"x": "*fp32", "y": "*fp32"}
    both = text_of(source, signature, constants={"HELP": True})
    alone = text_of(source, signature, constants={"HELP": False})
    assert len(_partitions(both)) == 1
    assert "warp" not in alone
    assert alone.count("tt.store") == 1


def test_tasks_in_a_loop() -> None:
    text = _text("""
for i in range(0, n):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x + i, 1.0)
        with tlx.async_task(num_warps=4):
            for j in range(0, i):
                tl.store(y + j, 2.0)
""")
    assert _op(text) == "ttg.warp_specialize(%arg4, %arg1)"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "with tlx.async_tasks():\n    with tlx.async_task(num_warps=4):\n        tl.store(x, 1.0)",
            "Default task must be one and only one",
        ),
        (
            'with tlx.async_tasks():\n    with tlx.async_task("default"):\n        tl.store(x, 1.0)\n'
            '    with tlx.async_task("default"):\n        tl.store(x, 1.0)',
            "Default task must be one and only one",
        ),
        (
            'with tlx.async_tasks():\n    k = n + 1\n    with tlx.async_task("default"):\n'
            "        tl.store(x, 1.0)\n    with tlx.async_task(num_warps=4):\n        tl.store(y, 1.0)",
            "Statements inside async_tasks() must be `with tlx.async_task(...)` blocks or constexpr "
            "if-guards around them",
        ),
        (
            'with tlx.async_task("default"):\n    tl.store(x, 1.0)',
            "async_task must be inside `with tlx.async_tasks():`",
        ),
        ("tl.store(x + tlx.async_task_replica_id(), 1.0)", "async_task_replica_id must be called"),
    ],
)
def test_mistakes(body: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        _text(body)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("num_warps=4, num_regs=100", "num_regs must be divisible by 8, got 100"),
        ("", "async_task needs num_warps"),
        (
            "num_warps=4, warp_group_start_id=2",
            "Overlapping warp ranges: task 0 uses warps [2, 6) which overlaps with default region "
            "warps [0, 4)",
        ),
        (
            "num_warps=4, warp_group_start_id=-1",
            "warp_group_start_id[0] = -1 must be non-negative",
        ),
    ],
)
def test_bad_tasks(task: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        _two(task)
    assert message in str(caught.value)


def test_registers_for_all_or_none() -> None:
    with pytest.raises(CompileError, match="either ALL or NONE of non-default tasks"):
        _text("""
with tlx.async_tasks():
    with tlx.async_task("default"):
        tl.store(x, 1.0)
    with tlx.async_task(num_warps=4, num_regs=24):
        tl.store(x, 1.0)
    with tlx.async_task(num_warps=4):
        tl.store(x, 1.0)
""")


def test_a_failed_trace_leaves_nothing_behind() -> None:
    with pytest.raises(CompileError):
        _two("num_warps=4, num_regs=100")
    with pytest.raises(CompileError, match="async_task_replica_id must be called"):
        _text("tl.store(x + tlx.async_task_replica_id(), 1.0)")
