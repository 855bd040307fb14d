"""Reading HTML that is shown in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"br", "col", "hr", "img", "input", "meta", "path", "rect"}


class Outline(HTMLParser):
    """The elements and the text of a piece of HTML; complains about what is not nested."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.styles: list[str] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.styles if self._open and self._open[-1] == "style" else self.words).append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def cells(text: str) -> list[list[str]]:
    """The rows of all tables, as texts."""
    rows: list[list[str]] = []

    class Rows(HTMLParser):
        inside = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag == "tr":
                rows.append([])
            elif tag in ("td", "th"):
                rows[-1].append("")
                self.inside = True

        def handle_endtag(self, tag: str) -> None:
            if tag in ("td", "th"):
                self.inside = False

        def handle_data(self, data: str) -> None:
            if self.inside:
                rows[-1][-1] += data

    Rows().feed(text)
    return rows
