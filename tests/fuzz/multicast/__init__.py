"""Random batched GEMMs with multicast: grids, cores, policies, orders, blocks, targets, residency."""
