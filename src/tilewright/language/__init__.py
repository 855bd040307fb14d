"""What an author imports: the kernel languages."""
