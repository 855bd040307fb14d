"""Allocators run in numba-cuda's simulator; it is chosen before numba is imported."""

import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
