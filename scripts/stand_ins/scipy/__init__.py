"""What other projects' tests use of SciPy, where it is not installed."""
