"""Runtime of generated tasks: memories, barriers, asynchronous units, the runtime of a CTA."""
