"""`T` kernels at run time: compile on first call, check what is passed, run, return results."""
