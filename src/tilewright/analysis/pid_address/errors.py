"""Input that the address analysis cannot work with."""


class AnalysisError(ValueError):
    """A message for the user: what is wrong with the kernel, the grid or the facts given."""
