"""Every test has a cache of its own, and warns anew."""

import pytest

from tilewright.targets import store
from tilewright.targets.store import limits


@pytest.fixture(autouse=True)
def base(tmp_path, monkeypatch):
    """What `TILEWRIGHT_CACHE_DIR` names."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_CACHE_MB", raising=False)
    monkeypatch.delenv("TILEWRIGHT_CACHE_DAYS", raising=False)
    monkeypatch.setattr(limits, "_warned", set())
    monkeypatch.setattr(store, "_unseen_bytes", {})
    return tmp_path / "cache"


@pytest.fixture
def own(base):
    """The directory in it that is ours."""
    return base / "tilewright-cache-v2"
