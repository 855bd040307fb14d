"""Launching kernels on AMD GPUs through AMD's Python bindings.

Written against the documented interface of ``hip-python`` and tried with a stand-in that records
the calls. Not tested on hardware.
"""
