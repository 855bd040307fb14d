"""Run a Python file the way ``python FILE`` does, inside an interpreter that is already running.

The file becomes the module ``__main__``: with its own ``sys.argv``, its directory first on
``sys.path``, its absolute path as ``__file__``. It stays ``__main__`` when it is done, so that
threads, ``atexit`` functions and pickles find their names. A traceback begins at the file, as if
it had been started directly.
"""

from __future__ import annotations

import builtins
import io
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

INTERRUPTED = 130
"""Exit code of a program ended by Ctrl-C, as shells have it."""


def run_file(file: str, arguments: Sequence[str]) -> None:
    """Execute `file` as ``__main__``. Whatever it raises comes out, ``SystemExit`` too."""
    path = str(Path(file).absolute())
    with io.open_code(path) as stream:
        source = stream.read()
    sys.argv = [file, *arguments]
    # The directory of the file itself, not of a link to it, as the interpreter has it.
    _begin_path(Path(path).resolve().parent)
    main = ModuleType("__main__")
    vars(main).update(
        __file__=path,
        __builtins__=builtins,
        __loader__=SourceFileLoader("__main__", path),
        __package__=None,
        __cached__=None,
        __annotations__={},
    )
    sys.modules["__main__"] = main
    exec(_compiled(source, path), vars(main))


def _compiled(source: bytes, path: str) -> CodeType:
    """Compile a script; an error that has no position, as for a binary file, names the file."""
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        error.filename = error.filename or path
        raise


def run_module(name: str, arguments: Sequence[str]) -> None:
    """Execute the module `name` as ``python -m`` does."""
    sys.argv = ["-m", *arguments]
    _begin_path(Path.cwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _begin_path(directory: Path) -> None:
    """Put `folder` where the interpreter put the directory of the program that runs the script."""
    if not sys.flags.safe_path:
        sys.path[:1] = [str(directory)]


def exit_code(
    program: Callable[[], object], interrupted: Callable[[BaseException], None] | None = None
) -> int:
    """Run `program` and return how it ended; an exception is shown as the interpreter shows it.

    `interrupted` shows where Ctrl-C came.
    """
    try:
        program()
    except SystemExit as stop:
        return _code_of(stop)
    except KeyboardInterrupt as error:
        if interrupted is not None:
            interrupted(error)
        return INTERRUPTED
    except BaseException as error:
        show(error)
        return 1
    return 0


def _code_of(stop: SystemExit) -> int:
    """``sys.exit(text)`` prints the text and counts as 1, ``sys.exit()`` as 0."""
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    sys.stderr.write(f"{stop.code}\n")
    return 1


def show(error: BaseException) -> None:
    """Print `error` with its traceback, without the frames that ran the script."""
    sys.stdout.flush()
    # The hook looks at the traceback of the exception as well as at the one it is given.
    error = error.with_traceback(script_traceback(error))
    sys.excepthook(type(error), error, error.__traceback__)


def script_traceback(error: BaseException) -> TracebackType | None:
    """The traceback of `error` from the first frame on that is not ours."""
    first = error.__traceback__
    while first is not None and _is_machinery(first.tb_frame.f_globals):
        first = first.tb_next
    if first is None and not isinstance(error, SyntaxError):
        return error.__traceback__  # it happened in the machinery, so that has to be seen
    return first


def _is_machinery(names: Mapping[str, Any]) -> bool:
    spec = names.get("__spec__")
    module: str = names.get("__name__", "") if spec is None else spec.name
    return module in ("runpy", __name__) or module.startswith(_RUNNERS)


_RUNNERS = ("tilewright.cli.", "tilewright.compat.__main__")
