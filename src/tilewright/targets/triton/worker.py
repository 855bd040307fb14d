"""A process that compiles: reads requests on standard input, writes responses on standard output.

    request   (text, way, options, path)          pickled, after its length in 8 bytes
    response  ("built", Built) | ("refused", stage, reason) | ("ptxas", text) | ("missing", text)

See `processes` for why there is one. It ends with the process that started it, and by itself when
no request has come in a while: it holds a few hundred megabytes.
"""

from __future__ import annotations

import os
import pickle
import select
import sys
from typing import Any, BinaryIO

LENGTH_BYTES = 8
_PATIENCE_SECONDS = 120.0


def send(stream: BinaryIO, message: object) -> None:
    data = pickle.dumps(message)
    stream.write(len(data).to_bytes(LENGTH_BYTES, "little"))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """The next message; raises EOFError where the other side is gone."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        raise EOFError
    size = int.from_bytes(head, "little")
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def respond(request: tuple[Any, ...]) -> tuple[object, ...]:
    """Do one job."""
    from tilewright.targets.triton.adapter import TritonRefused, build
    from tilewright.targets.triton.installation import TritonMissing
    from tilewright.targets.triton.ptxas import PtxasFailed

    try:
        return "built", build(*request)
    except TritonRefused as refused:
        return "refused", refused.stage, refused.reason
    except PtxasFailed as failed:
        return "ptxas", str(failed)
    except TritonMissing as missing:
        return "missing", str(missing)
    except Exception as error:  # of a release that differs from its row
        return "refused", "driver", f"{type(error).__name__}: {error}"


def serve() -> None:
    """Serve requests until standard input ends or the idle time is over."""
    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever Triton prints must not get between the responses
    # Requests come one at a time, so between two of them no part of one waits in a buffer.
    while select.select([sys.stdin], [], [], _PATIENCE_SECONDS)[0]:
        try:
            request = receive(sys.stdin.buffer)
        except EOFError:
            return
        send(responses, respond(request))


if __name__ == "__main__":
    serve()
