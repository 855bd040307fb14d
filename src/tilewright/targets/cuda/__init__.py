"""CUDA C++ and machine code from thread-level IR.

`emit` prints source, one op at a time from a table; `header` holds the device functions that the
source uses; `nvrtc` makes a cubin of it, with or without a GPU in the machine.
"""
