"""The parts of `benchmarks/h200.py`."""
