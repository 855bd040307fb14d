"""Tensors are NumPy's here, whatever other tests have imported."""

import sys

import pytest


@pytest.fixture(autouse=True)
def no_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
