"""Many processes write, read, sweep and clear at the same time."""

import os
import random
import subprocess
import sys

from tilewright.targets import store
from tilewright.targets.store.directory import open_directory
from tilewright.targets.store.listing import list_files

from .support import key, module_path

WORK = """
import random, sys, warnings
warnings.simplefilter("error")
from tilewright.targets import store
from tilewright.targets.store.directory import open_directory
from tilewright.targets.store.eviction import clear

def contents(number):
    return {"data": bytes([number]) * 60_000, "name": str(number).encode()}

chance = random.Random(int(sys.argv[1]))
found = 0
for _ in range(150):
    number = chance.randrange(30)
    key = store.digest(str(number))
    match chance.randrange(8):
        case 0 | 1 | 2:
            assert store.store("artefacts", key, contents(number))
        case 3:
            store.refresh("artefacts", key)
        case 4:
            with store.text_file(key, "module {}") as path:
                pass
        case 5 if chance.randrange(10) == 0:
            with open_directory(store.cache_dir()) as directory:
                clear(directory)
        case _:
            loaded = store.load("artefacts", key)
            assert loaded in (None, contents(number)), number
            found += loaded is not None
print(found)
"""


def test_processes_that_evict_each_others_entries(base, own):
    base.mkdir()
    (base / "mine").write_text("text")
    os.utime(base / "mine", (1, 1))
    seed = random.Random(17).randrange(1000)
    environment = {
        **os.environ,
        "PYTHONPATH": module_path(),
        "TILEWRIGHT_CACHE_DIR": str(base),
        "TILEWRIGHT_CACHE_MB": "1",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, str(seed + number)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    done = [(process.communicate(timeout=120), process.returncode) for process in processes]
    assert [code for _, code in done] == [0] * 4, [err for (_, err), _ in done]
    assert sum(int(out) for (out, _), _ in done) > 0
    assert (base / "mine").read_text() == "text"
    with open_directory(base) as directory:
        left = list_files(directory)
    assert left.foreign == ()
    assert left.is_tagged
    assert not [each for each in left.stored if each.kind == "drafts"]
    # Each process may add one entry after another has made space.
    assert left.size_bytes <= (1 << 20) + 4 * 61_000
    for number in range(30):
        found = store.load("artefacts", key(number))
        assert found is None or found["name"] == str(number).encode()
