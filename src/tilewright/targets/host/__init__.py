"""What the host does around the kernels of a function, whatever GPU they are for."""
