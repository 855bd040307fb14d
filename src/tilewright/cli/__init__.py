"""The command line: the programs tilewright and tilewright-opt."""
