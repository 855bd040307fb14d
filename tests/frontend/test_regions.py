"""``with``: contexts of Python's own, and regions that decide how often their body is traced."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from typing_extensions import override

from tests.frontend.mini import *  # noqa: F403
from tilewright.frontend.regions import TracedRegion
