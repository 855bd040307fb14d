"""All operators under Triton's own interpreter, in one process.

    TRITON_INTERPRET=1 python -m tests.language.tl.interpreted_operators FOLDER

writes FOLDER/values.npz: the bytes of each output of each kernel, named `kernel|type`, and
FOLDER/failures.json: what the interpreter said about the cases of which `operator_reference.fails`
says that it cannot evaluate them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from triton.runtime import interpreter

from tests.examples.interpreted import Pointer
from tests.language.tl.operator_cases import NAMES, Array, Plan, plan
from tests.language.tl.operator_reference import fails

_HEAD = "import triton as tw\nimport triton.language as tl\n"


def _load(plans: Sequence[Plan], folder: Path) -> ModuleType:
    path = folder / "interpreted_kernels.py"
    path.write_text("\n\n".join([_HEAD, *(each.source for each in plans)]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(kernel: Any, plan: Plan) -> dict[str, Array]:
    outputs = plan.empty()
    kernel[(1,)](*plan.operands().values(), *outputs.values())
    return outputs


def main(folder: Path) -> None:
    executor = interpreter.GridExecutor
    executor._init_args_hst = lambda self, args, kwargs: ([Pointer(each) for each in args], {})
    executor._restore_args_dev = lambda self, *args: None
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    plans = [plan(name) for name in NAMES]
    good = [each.only(each.name, [c for c in each.cases if not fails(c)]) for each in plans]
    bad = [
        each.only(f"{each.name}_{index}", [case])
        for each in plans
        for index, case in enumerate(each.cases)
        if fails(case)
    ]
    kernels = _load([*good, *bad], folder)
    values: dict[str, Array] = {}
    for each in good:
        for dtype, array in _run(getattr(kernels, each.name), each).items():
            values[f"{each.name}|{dtype}"] = array.view(np.uint8)
    np.savez(folder / "values.npz", **values)
    failures: dict[str, str] = {}
    for each in bad:
        try:
            _run(getattr(kernels, each.name), each)
        except interpreter.InterpreterError as error:
            failures[" ".join(each.cases[0].key)] = repr(error.__cause__)
    (folder / "failures.json").write_text(json.dumps(failures))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
