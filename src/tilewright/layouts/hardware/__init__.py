"""Layouts that instructions of GPUs dictate, of registers and of shared memory.

==================  =====================================================================
``mma_sync``        registers of ``mma.sync`` (one warp; sm_80 and later)
``wgmma``           registers of ``wgmma`` (four warps; sm_90a)
``matrix_moves``    ``ldmatrix`` and ``stmatrix`` (8 x 8 matrices between shared memory and lanes)
``swizzle``         how TMA and ``wgmma`` exchange 16-byte units in shared memory
``descriptors``     the 64 bits by which ``wgmma`` finds an operand in shared memory
``matrix_core``     registers of AMD's matrix instructions (one wave), and what they share
``mfma``            those of gfx9
``wmma``            those of gfx11 and gfx12
``lds``             operands of these in LDS, without bank conflicts
==================  =====================================================================

Sources are the sections of the PTX ISA, and AMD's tables, that the modules name; widths are in bits
of the element.
"""
