"""``tilewright studio --serve``: the page over HTTP, for this machine only.

A page is made by a process of its own, as from the command line: a script that fails or calls
``sys.exit`` leaves the server as it is, and a changed module is imported anew. It is made again
when the script is younger than the page.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock

from typing_extensions import override

from tilewright.cli.command_line import UsageError

_HOST = "127.0.0.1"


@dataclass
class PageMaker:
    """Makes the page when it is older than the script."""

    arguments: Sequence[str]
    script: Path
    directory: Path
    _made_at: int = -1
    _lock: Lock = field(default_factory=Lock)
    _failure: str = ""

    @property
    def page(self) -> Path:
        return self.directory / "page.html"

    def text(self) -> tuple[HTTPStatus, str]:
        """The page, or what went wrong."""
        with self._lock:
            try:
                changed_at = self.script.stat().st_mtime_ns
            except OSError as error:
                return HTTPStatus.NOT_FOUND, _failed(f"{self.script}: {error.strerror}")
            if changed_at != self._made_at:
                self._make()
                self._made_at = changed_at
            if self._failure:
                return HTTPStatus.INTERNAL_SERVER_ERROR, _failed(self._failure)
            return HTTPStatus.OK, self.page.read_text(encoding="utf-8")

    def _make(self) -> None:
        command = [sys.executable, "-m", "tilewright", "studio", "-o", str(self.page)]
        made = subprocess.run(
            [*command, *self.arguments], capture_output=True, text=True, check=False
        )
        sys.stderr.write(made.stderr)
        self._failure = made.stderr or made.stdout if made.returncode else ""


def _failed(text: str) -> str:
    return f"<!DOCTYPE html><title>no page</title><h1>no page</h1><pre>{escape(text)}</pre>\n"


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, maker: PageMaker, *arguments: object) -> None:
        self._maker = maker
        super().__init__(*arguments)  # pyright: ignore[reportArgumentType] what the server passes

    def do_GET(self) -> None:
        if self.path != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        status, text = self._maker.text()
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged: the page's own lines on standard error are enough."""


def serve(arguments: Sequence[str], script: str, port: int, program: str) -> int:
    """Serve until Ctrl-C; `arguments` are those of the command without the server's own."""
    with tempfile.TemporaryDirectory(prefix="tilewright-studio-") as directory:
        maker = PageMaker(arguments, Path(script), Path(directory))
        try:
            server = ThreadingHTTPServer((_HOST, port), partial(_Handler, maker))
        except OSError as error:
            raise UsageError(
                f"cannot serve at port {port}: {error.strerror}: pass another with --port"
            ) from None
        with server:
            sys.stderr.write(f"{program}: http://{_HOST}:{server.server_port}/ (Ctrl-C ends it)\n")
            sys.stderr.flush()
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                sys.stderr.write("\n")
    return 0
