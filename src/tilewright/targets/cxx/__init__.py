"""C++ for GPUs: what CUDA and HIP write alike, op by op.

`Flavour` is what differs: names of types, of library functions, of thread indices. The targets
add rules for what their machines do alone.
"""
