"""Some configurations of a kernel on pointers, measured on a worker: see `tune`.

The script is run up to the search of that kernel with that key, so its arguments are those of the
script, wherever they are. There the configurations are measured, and the script ends.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from typing import Any

from tilewright.cli.placed_script import placed
from tilewright.cli.targets import checked_name
from tilewright.compat import install
from tilewright.compat.script import run_file
from tilewright.runtime.autotune import RequestedTimes, TimesRequested, requested_times
from tilewright.runtime.options import running
from tilewright.runtime.tile.forced_target import targeting
from tilewright.runtime.tuning_table import tuning_table

_SETTING = "TILEWRIGHT_AUTOTUNE"


def timed(value: Mapping[str, Any]) -> dict[int, float | str]:
    """Milliseconds of each configuration by its index, or what is wrong with it."""
    requested = RequestedTimes(value["kernel"], value["key"], value["indices"])
    before = os.environ.get(_SETTING)
    token = requested_times.set(requested)
    os.environ[_SETTING] = "first"  # other searches of the script are of no interest here
    try:
        with ExitStack() as stack:
            file = stack.enter_context(placed(value))
            stack.enter_context(redirect_stdout(io.StringIO()))
            stack.enter_context(redirect_stderr(io.StringIO()))
            stack.enter_context(tuning_table(None))
            if value["target"] is not None:
                name = checked_name(value["target"])
                stack.enter_context(targeting(name))
                stack.enter_context(running(target=name))
            if value["compat"]:
                install()
            run_file(file, value["arguments"])
    except TimesRequested:
        return requested.times
    finally:
        requested_times.reset(token)
        if before is None:
            del os.environ[_SETTING]
        else:
            os.environ[_SETTING] = before
    raise RuntimeError(f"the script did not tune {requested.kernel} for {requested.key} here")
