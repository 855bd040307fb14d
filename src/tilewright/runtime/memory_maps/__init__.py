"""What kernels, compiled or as IR, have in shared and tensor memory."""
