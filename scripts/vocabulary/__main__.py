"""`python -m scripts.vocabulary PATH...`: terms to replace, with location and replacement."""

from __future__ import annotations

import argparse
from collections import Counter

from scripts.vocabulary.allowed import ALLOWED
from scripts.vocabulary.check import CLEAN, findings
from scripts.vocabulary.checked import CHECKED
from scripts.vocabulary.clean_files import CleanFiles
from scripts.vocabulary.rules import Kind


def main() -> int:
    """0 if there are none, else 1."""
    parser = argparse.ArgumentParser(prog="vocabulary", description=__doc__)
    parser.add_argument(
        "paths", nargs="*", help="files or directories (default: all that is checked)"
    )
    parser.add_argument("--kind", choices=[each.value for each in Kind], help="only of this kind")
    parser.add_argument("--word", help="only the rule of this term")
    parser.add_argument(
        "--count", action="store_true", help="a table of counts instead of locations"
    )
    parser.add_argument("--all", action="store_true", help="report the allowed exceptions too")
    options = parser.parse_args()
    try:
        if options.all:
            every = list(findings(options.paths or CHECKED, ()))
        else:
            with CleanFiles(CLEAN) as clean:
                every = list(findings(options.paths or CHECKED, ALLOWED, clean))
    except FileNotFoundError as error:
        parser.error(str(error))
    found = [
        each
        for each in every
        if options.kind in (None, each.text.kind.value) and options.word in (None, each.rule.key)
    ]
    if options.count:
        counts = Counter((each.rule.key, each.text.kind.value) for each in found)
        for rule in dict.fromkeys(key for key, _ in counts):
            row = " ".join(f"{counts[rule, kind.value]:6d}" for kind in Kind)
            print(f"{rule:20} {row}")
        print(f"{'':20} " + " ".join(f"{kind.value[:6]:>6}" for kind in Kind))
    else:
        for each in found:
            print(each)
    print(f"{len(found)} to change")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
