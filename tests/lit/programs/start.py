"""Run a program of a RUN line: ``start.py MODULE ARGUMENTS``, the same as ``-m MODULE ARGUMENTS``.

Where ``TILEWRIGHT_LOADED_PROGRAMS`` names the socket of ``loaded.py``, a fork of that process runs
the program with our streams, folder and environment; else this process becomes it. Imports as
little as it can: this file starts once for every command.
"""

import _socket
import marshal
import os
import sys


def main() -> None:
    arguments = sys.argv[1:]
    try:
        server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        server.connect(os.environ["TILEWRIGHT_LOADED_PROGRAMS"])
    except (KeyError, OSError):  # not asked for, or a RUN line run by hand after lit has ended
        os.execv(sys.executable, [sys.executable, "-m", *arguments])
    folder = os.getcwd()  # noqa: PTH109
    request = marshal.dumps((arguments, folder, dict(os.environ)))
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
    server.sendmsg([len(request).to_bytes(4, sys.byteorder)], rights)
    server.sendall(request)
    code = server.recv(1)
    if not code:
        sys.exit(f"{' '.join(arguments)}: the process ended without an exit code")
    os._exit(code[0])


main()
