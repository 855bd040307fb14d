"""The family of larger kernels: tensor cores, TMA, persistent loops, scans, atomics, gathers, roles."""
