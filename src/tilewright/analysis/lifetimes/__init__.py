"""When buffers hold values that are still read: full writes, versions, live ranges."""
