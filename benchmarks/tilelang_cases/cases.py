"""The cases of a checkout of TileLang: functions ``regression_*`` of its ``regression_*.py``."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "regression_"


@dataclass(frozen=True)
class Case:
    """One function of one file."""

    file: Path
    function: str

    @property
    def name(self) -> str:
        """``gemm.example_gemm``: unique among all."""
        return f"{self.file.parent.name}.{self.function.removeprefix(_PREFIX)}"


def cases_below(folder: Path) -> list[Case]:
    """All cases, in the order of their names."""
    found = [
        Case(file.resolve(), node.name)
        for file in sorted(folder.rglob(f"{_PREFIX}*.py"))
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(_PREFIX)
    ]
    return sorted(found, key=lambda case: case.name)
