"""Control flow of kernels: branches, loops and `with` blocks, as builder calls."""
