"""What a user imports: the kernel languages."""
