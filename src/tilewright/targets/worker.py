"""A process that calls functions: requests on standard input, replies on standard output.

    request   (function, positional arguments, keyword arguments)
    reply     (value, None) | (None, exception)

Both are pickled, after their length in 8 bytes; functions and classes go by name, so this process
imports what it needs. See `worker_pool` for the other side. It ends with the process that started
it (by the end of standard input or, while it is busy, because its parent is another one), and by
itself when no request has come in a while: a compiler holds a few hundred megabytes.
"""

from __future__ import annotations

import os
import pickle
import select
import sys
import threading
import time
from typing import BinaryIO

_LENGTH_BYTES = 8
_PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 1.0


def send(stream: BinaryIO, data: bytes) -> None:
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "little"))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> bytes:
    """The next message; raises EOFError where the other side is gone."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        raise EOFError
    size = int.from_bytes(head, "little")
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def reply_to(request: bytes) -> bytes:
    """Do what a request specifies; what goes wrong is part of the reply."""
    try:
        function, args, kwargs = pickle.loads(request)
        return pickle.dumps((function(*args, **kwargs), None))
    except Exception as error:  # of one request: the next one may be fine
        return pickle.dumps((None, _portable(error)))


def _portable(error: Exception) -> Exception:
    """`error`, or its text if it cannot be read on the other side."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return RuntimeError(f"{type(error).__name__}: {error}")


def serve(niceness: int = 0) -> None:
    """Serve requests until standard input ends or the idle time is over."""
    os.nice(niceness)
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed meanwhile must not get between the replies
    # Requests come one at a time, so between two of them no part of one waits in a buffer.
    while select.select([sys.stdin], [], [], _PATIENCE_SECONDS)[0]:
        try:
            send(replies, reply_to(receive(sys.stdin.buffer)))
        except (EOFError, BrokenPipeError):
            return


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    serve(int(sys.argv[1]))
