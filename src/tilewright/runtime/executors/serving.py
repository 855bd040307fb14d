"""A process of `processes`: calls on standard input, their results on standard output.

    request   (function, arguments, named arguments)
    reply     (True, result, is spoiled) | (False, exception, is spoiled)

It ends with the process that started it: by the end of standard input or, while it is busy, because
its parent has become another.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from typing import Any

from tilewright.runtime.executors.worker import Reply
from tilewright.targets.triton.worker import receive, send

_LOOK_SECONDS = 1.0


def respond(request: tuple[Any, ...]) -> tuple[bool, Any, bool]:
    """Do one call."""
    function, args, kwargs = request
    try:
        found = function(*args, **kwargs)
    except Exception as error:  # belongs to the caller
        return False, _portable(error), False
    return True, found, isinstance(found, Reply) and found.is_spoiled


def _portable(error: Exception) -> Exception:
    """An exception that can be sent; of others the text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def serve() -> None:
    """Serve requests until standard input ends."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # anything printed meanwhile must not get between the replies
    while True:
        try:
            request = receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            send(replies, respond(request))
        except BrokenPipeError:
            return


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    serve()
