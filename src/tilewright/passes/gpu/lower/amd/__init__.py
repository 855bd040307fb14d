"""Tile ops as code of one thread, where AMD GPUs have their own instructions."""
