"""Merging of on-chip buffers by liveness: problem, plan, rewriting and proof."""
