"""From IR to something that runs: one package a target."""
