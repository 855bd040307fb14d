"""Measurements: each file is a command, `python benchmarks/NAME.py --help`."""
