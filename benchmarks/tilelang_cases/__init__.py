"""Cases of TileLang's performance regressions, one process each."""
