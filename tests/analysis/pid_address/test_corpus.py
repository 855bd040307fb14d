"""Real kernels against results that were derived by hand and confirmed by running them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.pid_address.support import CORPUS, corpus_module, expectation
from tilewright.analysis.pid_address import AccessProperties, MemoryOp, analyze

KERNELS = sorted(path.name.removesuffix(".expected.json") for path in CORPUS.glob("*.json"))


def as_expected(access: MemoryOp) -> dict[str, Any]:
    """The fields of an expectation, from an access."""
    fields: dict[str, Any] = {
        "index": access.index,
        "op": access.op,
        "result": access.result,
        "base": access.base,
        "elem_bytes": access.elem_bytes,
        "shape": list(access.shape),
        "pattern": access.pattern.value,
        "pid_axes": list(access.pid_axes),
        "pid_strides": {
            str(axis): None if stride is None else str(stride)
            for axis, stride in access.pid_strides.items()
        },
        "lane_strides": [None if s is None else str(s) for s in access.lane_strides],
        "loop_strides": [
            {"loop": item.loop.name, "stride": None if item.stride is None else str(item.stride)}
            for item in access.loop_strides
        ],
        "block_size": access.block_size,
        "coalesced": access.coalesced,
        "vector_bits": access.vector_bits,
        "align_bytes": access.align_bytes,
        "order": list(access.order),
        "masked": access.masked,
    }
    if access.reason is not None:
        fields["reason"] = access.reason.value
    if access.call:
        fields["call"] = list(access.call)
    if access.virtual is not None:
        fields["virtual"] = {
            "pattern": access.virtual.pattern.value,
            "strides": {name: str(stride) for name, stride in access.virtual.strides.items()},
        }
    return fields


def test_the_corpus_is_complete() -> None:
    assert len(KERNELS) == 11


@pytest.mark.parametrize("name", KERNELS)
def test_every_field_of_every_access(name: str) -> None:
    report = analyze(corpus_module(name))
    expected = expectation(name)
    assert report.kernel == expected["kernel"]
    assert [as_expected(access) for access in report.accesses] == expected["accesses"]


@pytest.mark.parametrize("name", KERNELS)
def test_patterns_become_stronger_with_given_arguments(name: str) -> None:
    """Patterns that an instance names are reached; no instance makes one weaker."""
    rank = ["PID_INDEPENDENT", "PID_AFFINE", "PID_MULTI_AXIS", "PID_NONLINEAR", "UNKNOWN"]
    general = [access.pattern.value for access in analyze(corpus_module(name)).accesses]
    for instance in expectation(name)["instances"]:
        facts = AccessProperties(grid=tuple(instance["grid"]), args=instance["args"])
        found = [access.pattern.value for access in analyze(corpus_module(name), facts).accesses]
        for index, pattern in instance.get("patterns", {}).items():
            assert found[int(index)] == pattern
        assert all(
            rank.index(new) <= rank.index(old) for new, old in zip(found, general, strict=True)
        )
