"""Other projects' own files, run on Tilewright from a checkout: one module a suite."""
