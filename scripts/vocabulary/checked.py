"""Files and directories whose words are checked by `make lint` and `tests/test_vocabulary.py`."""

CHECKED: tuple[str, ...] = (
    "README.md",
    "CONTRIBUTING.md",
    "scripts/vocabulary/collect.py",
)
