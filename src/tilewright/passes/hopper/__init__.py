"""What only Hopper's asynchronous machine needs."""
