"""Codes that several packages report with one meaning.

A code that one module reports is a constant of that module. These are reported by modules that do
not import each other, so the constants are here, below all of them.
"""

from __future__ import annotations

STAGED = "TW2023"
"""Elements that move between threads through shared memory."""

SYNCHRONOUS_FILL = "TW3053"
"""A copy that is not asynchronous, because elements outside of its tensor are not zero."""

SHARED_MEMORY_EXCEEDED = "TW5001"
"""The kernel needs more shared or tensor memory than a block of the target has."""

NOT_ON_NUMPY = "TW6001"
"""An op that the NumPy target cannot execute."""

UNKNOWN_TARGET = "TW6007"
"""There is no such target, or the module is bound to another one."""

NO_ENTRY = "TW6002"
"""A module without exactly one function to run."""

RESULT_DEPENDS_ON_SCHEDULE = "TW6123"
"""Two schedules of one launch give different results."""

NO_SUCH_INSTRUCTION = "TW6211"
"""The target has no instruction for this op, or none for these operands."""

TARGET_NEEDS_TILES = "TW8030"
"""The error above the reasons why a kernel is not raised, where the target needs tiles."""

NUMPY_CODE_FAILED = "TW9061"
"""Generated NumPy code raised an exception of its own."""

OVERLAPPING_BUFFERS = "TW9062"
"""A placement gives the same bytes to buffers that are live at the same time."""
