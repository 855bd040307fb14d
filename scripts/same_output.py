"""Proves that a change leaves everything that is generated as it was.

    python scripts/same_output.py against REVISION              this tree against a commit
    python scripts/same_output.py record BEFORE.json            what this tree makes
    python scripts/same_output.py compare BEFORE.json AFTER.json

`scripts/same_output/__init__.py` lists what is compared, `--help` the options.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Ours first: a copy of the package may be installed, and this directory holds no package.
sys.path[:1] = [str(ROOT / "src"), str(ROOT)]

if __name__ == "__main__":
    from scripts.same_output.command import main

    sys.exit(main(sys.argv[1:]))
