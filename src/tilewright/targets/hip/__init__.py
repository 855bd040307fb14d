"""HIP C++ and code objects for AMD GPUs from thread-level IR.

`emit` prints source, one op at a time from a table; `header` holds the device functions that the
source uses; `clang` or `hiprtc` makes a code object of it, with or without a GPU in the machine;
`notes` reads the metadata of its kernels.
"""
