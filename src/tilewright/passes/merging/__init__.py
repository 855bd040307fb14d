"""Merging of on-chip buffers by liveness: the problem, the plan, the rewriting, the proof."""
