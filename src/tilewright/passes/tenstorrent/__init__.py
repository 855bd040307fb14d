"""Passes of the Tenstorrent target: from tile ops to the kernels of a Tensix core.

The first half of the pipeline is that of all targets (``passes.tile``). Here blocks are assigned
to cores, buffers become circular buffers in L1, and one program becomes three kernels: the reader
copies pages from DRAM, compute works on tiles in DST, the writer copies pages back.
"""
