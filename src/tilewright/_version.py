"""The version of the package: read by the build, and part of the keys of caches."""

from __future__ import annotations

__version__ = "0.1.0.dev0"
