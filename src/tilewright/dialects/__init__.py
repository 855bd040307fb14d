"""What IR can say: one file a dialect."""
