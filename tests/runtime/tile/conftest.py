"""Tensors are NumPy's here, whatever other tests have imported."""

import sys
from types import ModuleType

import pytest


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType | None:
    """The torch that was imported before; it can be imported only once in a process."""
    real = sys.modules.get("torch")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    return real
