"""Source of kernels that is in no file: text given to ``exec``, ``python -c``, standard input.

Python compiles such text and forgets it. It is found again where it still is: in a variable or a
constant of a function that is on the stack while the kernel is defined (the text that `exec` was
called with), on the command line of the interpreter (``-c``), or in the file that standard input
was redirected from. A text is taken only if compiling it gives the code that Python runs, positions
included; of two different texts for which that holds, neither is.

    exec(text)          <string 3f2a91c0>    the name of `exec`, and a digest of the text
    python -c TEXT      <string>
    python < FILE       <stdin>

What is found is registered with `linecache` under these names, as cells of a notebook are, so that
errors show its lines. `file_of` is the name for a code object; it is that of Python where the text
needs no search.
"""

from __future__ import annotations
import __future__

import hashlib
import linecache
import os
import stat
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import currentframe
from types import CodeType, FrameType, FunctionType
from typing import Any, cast

_INTERPRETER, _STDIN = "<string>", "<stdin>"
"""The files of `exec` and of ``python -c``, and of standard input."""
_MAX_BYTES = 64 * 1024 * 1024
_FUTURE: int = sum(
    {getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
)
"""Flags of code that a text gets from ``from __future__``, and from the code that executes it."""

_files: dict[int, tuple[CodeType, str]] = {}
"""Names of texts that were found, by the identity of code, which is retained for that."""


@dataclass(frozen=True)
class _Expected:
    """What a text has to compile to."""

    code: CodeType
    root: CodeType | None
    """The module that defines the function, if it is being executed."""

    def is_in(self, text: str) -> bool:
        """Whether compiling `text` gives this code."""
        made = _compiled(text, self.code)
        if made is None:
            return False
        if self.root is not None:
            return _is_same(made, self.root)
        return any(_is_same(each, self.code) for each in _nested(made))


def file_of(code: CodeType) -> str:
    """The name under which the text of `code` is known."""
    found = _files.get(id(code))
    return code.co_filename if found is None else found[1]


def find_text(function: FunctionType) -> str | None:
    """Look for the text that defines `function`; the name under which it is known from now on."""
    code = function.__code__
    known = _files.get(id(code))
    if known is not None:
        return known[1]
    root = _root_of(code)
    expected = _Expected(code, root)
    for name, texts in _texts(code):
        found = {text for each in texts for text in _forms(each) if expected.is_in(text + "\n")}
        if len(found) == 1:
            text = found.pop() + "\n"
            return _register(expected, name or _digest_name(code.co_filename, text), text)
        if found:
            return None  # positions agree, annotations may not
    return None


def why_missing(function: FunctionType) -> str:
    """Why there is no text of `function`, and what to do about it."""
    file = function.__code__.co_filename
    if file == _STDIN:
        if _is_prompt():
            return (
                "Python keeps no text that is typed at its prompt: use IPython or a notebook, or "
                "save the kernel in a file"
            )
        return (
            "standard input is a pipe, which is read once: save the text in a file and run 'python "
            "FILE', or redirect the file with 'python < FILE'"
        )
    if file.startswith("<"):
        return (
            "Python keeps no text that is given to exec or compile: assign the whole text to a "
            "variable of the function that calls exec ('text = ...; exec(text)'), or save it in a "
            "file and import that"
        )
    return (
        f"there is no file {file!r} with these lines: restore the file, or define kernel functions "
        "in a file, a notebook, or text registered with linecache"
    )


# -- where a text may be ---------------------------------------------------------------------------


def _texts(code: CodeType) -> Iterator[tuple[str | None, set[str]]]:
    """Texts that may define `code`, nearest first, with the name of those that have one."""
    name = code.co_name
    frame = currentframe()
    while frame is not None:
        yield None, {text for text in _held(frame) if name in text and "def" in text}
        frame = frame.f_back
    if code.co_filename == _INTERPRETER:
        yield _INTERPRETER, {each for each in sys.orig_argv if name in each}
    if code.co_filename == _STDIN:
        yield _STDIN, set(_redirected())


def _held(frame: FrameType) -> Iterator[str]:
    """Texts in the variables and the constants of a frame, and one level inside of containers."""
    values = (*frame.f_locals.values(), *frame.f_code.co_consts)
    if frame.f_locals is not frame.f_globals:
        values += tuple(
            frame.f_globals[name] for name in frame.f_code.co_names if name in frame.f_globals
        )
    for value in values:
        if type(value) is str:
            yield value
        elif type(value) is dict:
            yield from _of_type_str(cast("dict[Any, Any]", value).copy().values())
        elif type(value) in (list, tuple):
            yield from _of_type_str(cast("list[Any]", value))


def _of_type_str(values: Any) -> Iterator[str]:
    yield from (each for each in values if type(each) is str)


def _redirected() -> Iterator[str]:
    """The file that standard input is redirected from; reading it moves no position."""
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_BYTES:
            yield os.pread(0, status.st_size, 0).decode("utf-8")
    except (AttributeError, OSError, ValueError):  # closed, not UTF-8, or no such call here
        return


def _is_prompt() -> bool:
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


# -- whether it is the right one -------------------------------------------------------------------


def _root_of(code: CodeType) -> CodeType | None:
    """The module that is executing and has `code` in it."""
    frame = currentframe()
    root: CodeType | None = None
    while frame is not None:
        each = frame.f_code
        if each.co_filename == code.co_filename and any(code is one for one in _nested(each)):
            root = each
        frame = frame.f_back
    return root if root is not None and root.co_name == "<module>" else None


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _is_same(one: CodeType, other: CodeType) -> bool:
    """Whether two code objects were compiled from the same text at the same lines.

    Python's own comparison looks at instructions as they are specialised by running.
    """
    return all(getattr(one, name) == getattr(other, name) for name in _FIELDS) and (
        len(one.co_consts) == len(other.co_consts)
        and all(map(_is_same_constant, one.co_consts, other.co_consts))
    )


_FIELDS = (
    "co_name",
    "co_firstlineno",
    "co_flags",
    "co_code",
    "co_linetable",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
)


def _is_same_constant(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _is_same(one, other)
    return type(one) is type(other) and repr(one) == repr(other)


def _compiled(text: str, like: CodeType) -> CodeType | None:
    """`text` compiled as Python compiled `like`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python reported them when it compiled the text
            return compile(
                text, like.co_filename, "exec", like.co_flags & _FUTURE, dont_inherit=True
            )
    except (SyntaxError, ValueError):  # ValueError: a NUL
        return None


_FORMS: tuple[Callable[[str], str], ...] = (
    str,
    textwrap.dedent,
    str.strip,
    lambda text: textwrap.dedent(text).strip(),
    lambda text: textwrap.dedent(text).lstrip("\n"),
)


def _forms(text: str) -> set[str]:
    """What is commonly done to a text before it is executed, without white space at the end."""
    return {form(text).rstrip() for form in _FORMS}


# -- keeping it ------------------------------------------------------------------------------------


def _digest_name(file: str, text: str) -> str:
    """A name that no other text has, and that is the same in every process."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"<{file.removeprefix('<').removesuffix('>')} {digest}>"


def _register(expected: _Expected, name: str, text: str) -> str:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    for code in _nested(expected.root if expected.root is not None else expected.code):
        _files[id(code)] = code, name
    return name
