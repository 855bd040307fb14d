"""What the tests of this folder need beyond a device, and the reason given where it is missing.

They build kernels with the Triton that is installed and hold data in torch, on a Hopper GPU: the
kernels use its copy engine and its matrix instructions. Whether a driver sees any device at all is
asked by ``tests/devices.py`` for every test with the marker.
"""

import importlib
import os
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.device.suite import SHARD, shard_of
from tests.devices import missing_device

FOLDER = Path(__file__).parent
HOPPER = (9, 0)


@cache
def missing() -> str | None:
    """Why the kernels cannot be built and run here, or None when they can."""
    if (reason := missing_device()) is not None:
        return reason  # without importing torch, which tests of other folders do not expect
    for package in ("torch", "triton"):
        if find_spec(package) is None:
            return f"{package} is not installed"
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return "torch sees no CUDA device"
    capability = torch.cuda.get_device_capability()
    if capability != HOPPER:
        return "the kernels are for compute capability 9.0, the GPU has {}.{}".format(*capability)
    if importlib.import_module("triton").__version__.startswith("3.8."):
        return "Triton 3.8 alone refuses views that are smaller than their allocation"
    return None


@pytest.fixture(scope="session", autouse=True)
def fresh_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every run builds its kernels anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton-cache")))
        yield


def pytest_report_header() -> str:
    return f"device kernels: {missing() or 'will run'}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _keep_shard(config, items)
    here = [item for item in items if item.path.parent == FOLDER]
    if not here or (reason := missing()) is None:
        return
    for item in here:
        item.add_marker(
            pytest.mark.skip(reason=f"needs a Hopper GPU with torch and Triton: {reason}")
        )


def _keep_shard(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what other processes of `suite` run."""
    given = os.environ.get(SHARD)
    if given is None:
        return
    own, jobs = map(int, given.split("/"))
    shards = shard_of([_group(item) for item in items], jobs)
    others = [item for item, shard in zip(items, shards, strict=True) if shard != own]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item, shard in zip(items, shards, strict=True) if shard == own]


def _group(item: pytest.Item) -> object:
    """Tests of one kernel share its machine code."""
    callspec = getattr(item, "callspec", None)
    name = None if callspec is None else callspec.params.get("name")
    return item.nodeid if name is None else (item.path, name)
