"""Cases that are wrong on purpose, `tests/wrong_kernels`: what is found, and where."""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stdout

from scripts.same_output.stages import ROOT, Stages
from scripts.same_output.tile_cases import run_on_gpu
from tests.wrong_kernels.test_gpu_wrong_kernels import HOPPER, arguments_of
from tests.wrong_kernels.test_wrong_kernels import load
from tilewright.passes.gpu.pipeline import GpuPipeline

DIRECTORY = "tests/wrong_kernels"
FOR_GPUS = "gpu_cases"


def mistakes() -> list[str]:
    directory = ROOT / DIRECTORY
    return sorted(str(path.relative_to(directory)) for path in directory.glob("*cases/*.py"))


def run_mistake(name: str, stages: Stages) -> None:
    case = load(ROOT / DIRECTORY / name)
    for version in ("wrong", "fixed"):
        with stages.guarded(version), warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("error", UserWarning)
            if name.startswith(FOR_GPUS):
                kernel = getattr(case, version)
                module = kernel.get_tir(*arguments_of(case, kernel)).module
                pipeline = GpuPipeline(target=getattr(case, "TARGET", HOPPER))
                run_on_gpu(module, pipeline, stages, way=version)
            else:
                case.launch(getattr(case, version))
                stages.code(f"{version}/runs", "")
