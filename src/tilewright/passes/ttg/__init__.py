"""Layouts of tensors and buffers of kernels on pointers: from tensors without layouts to TTGIR."""
