"""Source text from thread-level IR: one file of rules for each kind of op."""
