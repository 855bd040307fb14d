"""``tilelang.env``: the settings that scripts read from TileLang's environment.

Directories are Tilewright's own (``TILEWRIGHT_CACHE_DIR``), unless TileLang's variable names
another; the rest has the value of its variable, or TileLang's default.
"""

from __future__ import annotations

import os
import sys

from tilewright.compat.tilelang import disable_cache as disable_cache
from tilewright.compat.tilelang import enable_cache as enable_cache
from tilewright.compat.tilelang import is_cache_enabled as is_cache_enabled
from tilewright.targets.store.limits import cache_dir

_DEFAULTS = {
    "CUDA_HOME": "",
    "TILELANG_AUTO_TUNING_CPU_COUNTS": "-1",
    "TILELANG_AUTO_TUNING_CPU_UTILITIES": "0.9",
    "TILELANG_AUTO_TUNING_DISABLE_CACHE": "0",
    "TILELANG_AUTO_TUNING_MAX_CPU_COUNT": "-1",
    "TILELANG_DEFAULT_TARGET": "auto",
    "TILELANG_DISABLE_CACHE": "0",
    "TILELANG_PRINT_ON_COMPILATION": "1",
    "TILELANG_VERBOSE": "0",
}


def __getattr__(name: str) -> object:
    if name == "env":
        return sys.modules[__name__]
    if name == "TILELANG_CACHE_DIR":
        return os.environ.get(name) or str(cache_dir() / "tilelang")
    if name == "TILELANG_TMP_DIR":
        return os.environ.get(name) or f"{__getattr__('TILELANG_CACHE_DIR')}/tmp"
    if name in _DEFAULTS:
        return os.environ.get(name, _DEFAULTS[name])
    raise AttributeError(f"Tilewright's stand-in for TileLang does not offer tilelang.env.{name}")
