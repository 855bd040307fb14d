"""From whole tile ops to what each thread does: one file a pass, in the order of `pipeline`."""
