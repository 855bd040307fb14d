"""The rewrite rules of the canonicaliser, one file per kind of op."""
