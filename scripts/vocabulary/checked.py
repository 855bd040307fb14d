"""Files and directories whose words are checked by `make lint` and `tests/test_vocabulary.py`."""

CHECKED: tuple[str, ...] = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs",
    "scripts/diagnostics_doc.py",
    "scripts/passes_doc.py",
    "scripts/vocabulary/collect.py",
    "tests/analysis/affine",
    "tests/analysis/axis_info",
    "tests/analysis/layout_inference",
    "tests/analysis/pid_address",
    "src",
    "tests/layouts",
)
