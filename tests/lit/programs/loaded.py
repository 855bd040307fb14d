"""A process that has loaded the programs of RUN lines and forks one for every ``start.py``.

    loaded.py SOCKET

Loading the compiler takes longer than most commands. A fork is a process of its own, as a fresh
start would be: what one command does, no other sees. Ends with its standard input; removes the
folder of the socket.
"""

import gc
import importlib
import marshal
import os
import select
import shutil
import socket
import sys
import traceback
from pathlib import Path

PROGRAMS = {"tilewright.cli.opt": "tilewright.cli.opt", "filecheck": "filecheck.main"}
"""The module with `main` of each program, by the name that `-m` takes."""


def load() -> None:
    from tilewright.passes import PASSES

    for module in PROGRAMS.values():
        importlib.import_module(module)
    for pass_class in PASSES.values():
        pass_class()


def serve(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        os.write(1, b"ready\n")
        running: set[int] = set()
        while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
            connection = listener.accept()[0]
            if (child := os.fork()) == 0:
                listener.close()
                answer(connection)
            connection.close()
            running.add(child)
            running -= {each for each in running if os.waitpid(each, os.WNOHANG)[0]}
        for each in running:
            os.waitpid(each, 0)


def answer(connection: socket.socket) -> None:
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as stream:
        arguments, folder, environment = marshal.loads(
            stream.read(int.from_bytes(size, sys.byteorder))
        )
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # The streams of this process know whether they can seek: a pipe in place of a file cannot.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    code = exit_code(*arguments)
    connection.sendall(bytes([code]))
    os._exit(code)


def exit_code(name: str, *arguments: str) -> int:
    module = importlib.import_module(PROGRAMS[name])
    sys.argv = [str(module.__file__), *arguments]
    try:
        module.main()
        code = 0
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    sys.stderr.flush()
    return code & 0xFF if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    folder = Path(sys.argv[1]).parent
    try:
        load()
        gc.freeze()
        serve(Path(sys.argv[1]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
