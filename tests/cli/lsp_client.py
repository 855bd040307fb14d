"""A client of the language server protocol: messages over the streams of a process."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_S = 90


class Client:
    """Starts `tilewright lsp` and speaks to it, as an editor does."""

    def __init__(self, directory: Path, *flags: str) -> None:
        path = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tilewright", "lsp", *flags],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._ids = iter(range(1, 1 << 30))
        self._replies: queue.Queue[dict[str, Any]] = queue.Queue()
        self._notifications: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.capabilities = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": directory.as_uri(),
                "capabilities": {"textDocument": {"hover": {"contentFormat": ["markdown"]}}},
            },
        )["capabilities"]
        self.notify("initialized", {})

    # -- messages --------------------------------------------------------------------------------

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not length:
                return
            message = json.loads(stream.read(length))
            (self._notifications if "method" in message else self._replies).put(message)

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stream = self.process.stdin
        assert stream is not None
        stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stream.flush()

    def request(self, method: str, params: object) -> Any:
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": params})
        reply = self._replies.get(timeout=_PATIENCE_S)
        assert reply["id"] == number
        assert "error" not in reply, reply
        return reply["result"]

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    # -- what an editor does ---------------------------------------------------------------------

    def open(self, file: Path) -> None:
        language = "python" if file.suffix == ".py" else "mlir"
        self.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": file.as_uri(),
                    "languageId": language,
                    "version": 1,
                    "text": file.read_text(),
                }
            },
        )

    def save(self, file: Path, text: str, version: int) -> None:
        file.write_text(text)
        document = {"uri": file.as_uri(), "version": version}
        change = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", change)
        self.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})

    def close(self, file: Path) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": file.as_uri()}})

    def published(self, file: Path) -> list[dict[str, Any]]:
        """The next diagnostics that are published for a file."""
        while True:
            message = self._notifications.get(timeout=_PATIENCE_S)
            params = message["params"]
            is_diagnostics = message["method"] == "textDocument/publishDiagnostics"
            if is_diagnostics and params["uri"] == file.as_uri():
                return params["diagnostics"]

    def hover(self, file: Path, line: int, character: int) -> str:
        """The text at a position, which counts from 0; nothing where there is none."""
        position = {"line": line, "character": character}
        found = self.request(
            "textDocument/hover",
            {"textDocument": {"uri": file.as_uri()}, "position": position},
        )
        return "" if found is None else found["contents"]["value"]

    def stop(self) -> int:
        """Shut the server down; its exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(_PATIENCE_S)
