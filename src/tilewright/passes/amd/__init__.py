"""Passes for AMD's GPUs: what they do otherwise than NVIDIA's, and the pipeline."""
