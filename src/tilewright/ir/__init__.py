"""What all IR shares: text, diagnostics, verification, rewriting, dataflow and pipelines."""
