"""What generated code of tasks calls: memories, barriers, engines, the runtime of a CTA."""
