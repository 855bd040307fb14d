"""Expected diagnostics of a test file, for comparison with the actual ones.

The notation is MLIR's, in a `//` comment that ends its line:

    expected-error {{text}}             an error on this line whose message contains the text
    expected-warning@+1 {{text}}        a line below; likewise remark and note, and @-1
    expected-error @below {{text}}      on the next line without a comment of this kind
    expected-error @above {{text}}      on the last line before without one
    expected-error @unknown {{text}}    at no known position
    expected-error-re {{a {{[0-9]+}}}}  the inner braces contain a regular expression

and beyond MLIR: `{{a}} {{b}}` is two expectations, one line may hold several comments of this
kind, `expected-error 2 {{text}}` means exactly two (without a number: one or more), and
`@#name` is the line with the comment `// #name`. MLIR overlooks a comment that it cannot read;
here that is a mismatch, since a check that never runs must not pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tilewright.ir.diagnostics.diagnostic import Severity
from tilewright.ir.diagnostics.position import SourcePosition

_SEVERITIES = {severity.label: severity for severity in Severity}
_KINDS = "|".join(_SEVERITIES)
_NAME = r"[A-Za-z_][\w.-]*"

_DIRECTIVE = re.compile(rf"expected-(?:{_KINDS})(?:-re)?(?![\w-])")
_HEAD = re.compile(
    rf"expected-(?P<kind>{_KINDS})(?P<regex>-re)?"
    rf" *(?:@(?P<target>[+-][0-9]{{1,9}}|above|below|unknown|#{_NAME}))?"
    r"(?: +(?P<count>[1-9][0-9]{0,8}))? *(?=\{\{)"
)
_BRACES = re.compile(r"\{\{|\}\}")
_CONTINUATION = re.compile(rf"\s+(?:\{{\{{|(?://\s*)?expected-(?:{_KINDS}))")
_MARKER = re.compile(rf"//\s*#({_NAME})")

# POSIX classes, which LLVM's regular expressions know and Python's do not.
_POSIX_CLASSES = {
    "[:alnum:]": "a-zA-Z0-9",
    "[:alpha:]": "a-zA-Z",
    "[:blank:]": r" \t",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:upper:]": "A-Z",
    "[:xdigit:]": "0-9a-fA-F",
}


@dataclass(frozen=True)
class Expectation:
    """One expected diagnostic."""

    severity: Severity
    text: str
    position: SourcePosition
    """The position of the expectation itself."""
    line: int | None
    """Line of the same file where the diagnostic must be; None for no known position."""
    pattern: re.Pattern[str] | None = None
    count: int | None = None

    def accepts(self, message: str) -> bool:
        """Whether the text is in the message, or the pattern finds something in it."""
        return self.pattern.search(message) is not None if self.pattern else self.text in message


@dataclass(frozen=True)
class BadExpectation:
    """An expectation that cannot be parsed."""

    position: SourcePosition
    message: str


@dataclass(frozen=True)
class Expectations:
    """All expectations of one text, in the order written."""

    items: tuple[Expectation, ...] = ()
    problems: tuple[BadExpectation, ...] = ()


@dataclass(frozen=True)
class _Found:
    """An expectation as written, before its line is known."""

    expectation: Expectation
    target: str


@dataclass
class _Scan:
    """State of reading a text from top to bottom; lines count in the original file."""

    last_line: int
    plain_line: int
    found: list[_Found] = field(default_factory=list[_Found])
    problems: list[BadExpectation] = field(default_factory=list[BadExpectation])
    waiting: list[int] = field(default_factory=list[int])

    def plain(self, line: int) -> None:
        """A line without expectations: what `@above` and `@below` look for."""
        for index in self.waiting:
            self._set_line(index, line)
        self.waiting.clear()
        self.plain_line = line

    def add_expectations(self, line: int, results: list[_Found | BadExpectation]) -> None:
        for result in results:
            if isinstance(result, BadExpectation):
                self.problems.append(result)
                continue
            self.found.append(result)
            index = len(self.found) - 1
            if result.target == "below":
                # At the end of the text there may be no further plain line.
                self._set_line(index, self.last_line)
                self.waiting.append(index)
            elif result.target == "above":
                self._set_line(index, self.plain_line)
            elif result.target[:1] in ("+", "-"):
                self._set_line(index, line + int(result.target))

    def _set_line(self, index: int, line: int) -> None:
        found = self.found[index]
        self.found[index] = replace(found, expectation=replace(found.expectation, line=line))


def parse_expectations(text: str, file: str, line_offset: int = 0) -> Expectations:
    """The expectations in `text`, which is `file` or the part of it after `line_offset` lines."""
    lines = text.split("\n")
    first = line_offset + 1
    scan = _Scan(last_line=line_offset + len(lines), plain_line=first)
    for lineno, line in enumerate(lines, first):
        results = list(_expectations_in(line, file, lineno)) if "expected-" in line else []
        if results:
            scan.add_expectations(lineno, results)
        else:
            scan.plain(lineno)
    return _resolve_markers(scan, lines, first)


def _expectations_in(line: str, file: str, lineno: int) -> Iterator[_Found | BadExpectation]:
    comment = line.find("//")
    if comment < 0:
        return
    line = line.rstrip()
    cursor = comment + 2
    while directive := _DIRECTIVE.search(line, cursor):
        start = directive.start()
        position = SourcePosition(file, lineno, start + 1, lineno, len(line) + 1)
        head = _HEAD.match(line, start)
        if head is None:
            # Without braces it is prose about such comments, not one of them.
            if line.find("{{", start) >= 0:
                yield BadExpectation(position, "cannot read this expected-… comment")
            return
        cursor = head.end()
        while line.startswith("{{", cursor):
            close = _closing_braces(line, cursor)
            if close is None:
                yield BadExpectation(position, "expected-… comment does not end its line with '}}'")
                return
            span = replace(position, column=start + 1, end_column=close + 3)
            yield _one(head, line[cursor + 2 : close], span)
            start = cursor = close + 2 + _spaces(line, close + 2)


def _closing_braces(line: str, opening: int) -> int | None:
    """Index of the braces that close the text opened at `opening`.

    Text may hold braces of its own, in pairs or not, so only two positions qualify: where the
    pairs are even and another text or comment follows, else the end of the line.
    """
    depth = 0
    for braces in _BRACES.finditer(line, opening):
        depth += 1 if braces.group() == "{{" else -1
        if depth == 0 and _CONTINUATION.match(line, braces.end()):
            return braces.start()
    return len(line) - 2 if line.endswith("}}") else None


def _spaces(line: str, start: int) -> int:
    return len(line) - start - len(line[start:].lstrip())


def _one(head: re.Match[str], text: str, position: SourcePosition) -> _Found | BadExpectation:
    target: str = head["target"] or ""
    pattern = None
    if head["regex"]:
        try:
            pattern = _compile(text)
        except (re.error, OverflowError, RecursionError, ValueError) as error:
            return BadExpectation(position, str(error))
    expectation = Expectation(
        _SEVERITIES[head["kind"]],
        text,
        position,
        line=None if target == "unknown" else position.line,
        pattern=pattern,
        count=int(head["count"]) if head["count"] else None,
    )
    return _Found(expectation, target)


def _compile(text: str) -> re.Pattern[str]:
    """The pattern for an `-re` text: literal but for the parts in braces."""
    parts: list[str] = []
    rest = text
    while rest:
        literal, opened, rest = rest.partition("{{")
        parts.append(re.escape(literal))
        if not opened:
            break
        expression, closed, rest = rest.partition("}}")
        if not closed:
            raise ValueError("found start of regex with no end '}}'")
        for name, members in _POSIX_CLASSES.items():
            expression = expression.replace(name, members)
        try:
            re.compile(expression)
        except re.error as error:
            raise ValueError(f"invalid regex: {error}") from error
        parts.append(f"(?:{expression})")
    return re.compile("".join(parts), re.DOTALL)


def _resolve_markers(scan: _Scan, lines: list[str], first: int) -> Expectations:
    referenced = {found.target for found in scan.found if found.target.startswith("#")}
    markers = _markers(lines, first) if referenced else {}
    items: list[Expectation] = []
    for found in scan.found:
        if not found.target.startswith("#"):
            items.append(found.expectation)
            continue
        marked = markers.get(found.target[1:], [])
        if len(marked) == 1:
            items.append(replace(found.expectation, line=marked[0]))
        else:
            what = "is not defined" if not marked else "is defined more than once"
            scan.problems.append(
                BadExpectation(found.expectation.position, f"marker '{found.target}' {what}")
            )
    return Expectations(tuple(items), tuple(scan.problems))


def _markers(lines: list[str], first: int) -> dict[str, list[int]]:
    markers: dict[str, list[int]] = {}
    for lineno, line in enumerate(lines, first):
        for marker in _MARKER.finditer(line):
            markers.setdefault(marker[1], []).append(lineno)
    return markers
