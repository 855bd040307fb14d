"""Seeded damage to IR text: tokens deleted, doubled or swapped, files cut, bytes replaced."""

import random
import re
from collections.abc import Callable

_TOKEN = re.compile(rb"\s+|[%#!@^]?[\w.$-]+|\"[^\"\n]*\"|->|.", re.DOTALL)
_NOISE = b"\x00\xff\x80%#!@^\"'(){}[]<>:,=-+*/?|.0123456789abcxyz \n\t\\~`"

Mutation = Callable[[random.Random, list[bytes]], list[bytes]]


def _delete(rng: random.Random, tokens: list[bytes]) -> list[bytes]:
    at = rng.randrange(len(tokens))
    return tokens[:at] + tokens[at + rng.randint(1, 3) :]


def _duplicate(rng: random.Random, tokens: list[bytes]) -> list[bytes]:
    at = rng.randrange(len(tokens))
    return tokens[: at + 1] + tokens[at : at + rng.randint(1, 40)] + tokens[at + 1 :]


def _swap(rng: random.Random, tokens: list[bytes]) -> list[bytes]:
    a, b = sorted((rng.randrange(len(tokens)), rng.randrange(len(tokens))))
    if rng.random() < 0.5:
        b = min(a + rng.randint(1, 4), len(tokens) - 1)
    out = list(tokens)
    out[a], out[b] = out[b], out[a]
    return out


def _truncate(rng: random.Random, tokens: list[bytes]) -> list[bytes]:
    text = b"".join(tokens)
    return [text[: rng.randrange(len(text))]]


def _noise(rng: random.Random, tokens: list[bytes]) -> list[bytes]:
    text = bytearray(b"".join(tokens))
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        text[rng.randrange(len(text))] = rng.choice(_NOISE)
    return [bytes(text)]


MUTATIONS: dict[str, Mutation] = {
    "delete": _delete,
    "duplicate": _duplicate,
    "swap": _swap,
    "truncate": _truncate,
    "noise": _noise,
}


def mutated(text: bytes, seed: int) -> tuple[str, bytes]:
    """The name of the first mutation applied, and the damaged text."""
    rng = random.Random(seed)
    tokens = _TOKEN.findall(text)
    names = rng.choices(list(MUTATIONS), k=rng.choice((1, 1, 1, 2, 3)))
    for name in names:
        tokens = MUTATIONS[name](rng, _TOKEN.findall(b"".join(tokens)) or [b" "])
    return names[0], b"".join(tokens)
