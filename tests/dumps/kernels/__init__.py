"""Short kernels by theme; each module ends with a `CASES` tuple."""
