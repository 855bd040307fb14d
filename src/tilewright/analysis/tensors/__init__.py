"""Tensors in global memory: strides, what is read outside of them, accesses that overlap."""
