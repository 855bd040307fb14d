"""GEMMs of any shape: the kernel, its configurations and the model that prunes them."""
