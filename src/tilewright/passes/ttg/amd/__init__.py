"""Passes on TTGIR that only AMD GPUs need."""
