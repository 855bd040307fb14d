"""Which values an integer of IR may have: ranges, divisibility, rules of ops."""
