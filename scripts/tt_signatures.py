"""Write the stored table of the vendor's device API from a checkout.

    TILEWRIGHT_TT_METAL=DIR python -m scripts.tt_signatures --update COMMIT DATE

Without --update, print how many names the checkout has and how many differ from the stored table.
"""

from __future__ import annotations

import argparse
import sys

from tests.oracles.tenstorrent_headers.signatures import TABLE, dump, extract, stored
from tests.oracles.tenstorrent_headers.vendor_headers import checkout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", nargs=2, metavar=("COMMIT", "DATE"))
    options = parser.parse_args()
    table = extract(checkout())
    if options.update:
        TABLE.write_text(dump(table, " ".join(options.update)), encoding="utf-8")
        print(f"{TABLE.name}: {len(table)} names")
        return 0
    source, known = stored()
    differing = sorted(name for name in {*table, *known} if table.get(name) != known.get(name))
    print(f"{len(table)} names; {len(differing)} differ from the table of {source}")
    print(*differing, sep="\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
