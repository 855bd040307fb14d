"""``python -m tilewright``: the same as the command ``tilewright``."""

from tilewright.cli.main import main

main()
