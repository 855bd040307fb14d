"""Ops are named in messages as the calls that make them."""

import pytest

from tilewright.dialects.tile import SyncOp
from tilewright.dialects.tile.calls import CALLS, call_text
from tilewright.language import T


@pytest.mark.parametrize("call", [each for each in CALLS.values() if each.startswith("T.")])
def test_calls_exist(call: str) -> None:
    assert hasattr(T, call.removeprefix("T."))


@pytest.mark.parametrize(
    ("scope", "call"),
    [
        ("block", "T.sync_threads"),
        ("warp", "T.sync_warp"),
        ("grid", "T.sync_grid"),
        ("cluster", "T.cluster_sync"),
    ],
)
def test_synchronisation(scope: str, call: str) -> None:
    assert call_text(SyncOp(scope)) == call
    assert hasattr(T, call.removeprefix("T."))
