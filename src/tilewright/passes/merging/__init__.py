"""Merging of shared and tensor memory by liveness: problem, plan, rewriting and proof."""
