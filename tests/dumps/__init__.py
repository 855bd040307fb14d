"""Real Triton dumps: kernels, a generator for their IR text and the consumer that judges ours."""
