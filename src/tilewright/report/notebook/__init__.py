"""Kernels, plans, reports and errors as HTML inside of a notebook."""
