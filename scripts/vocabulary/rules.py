"""Words that readers of the PTX manual, Triton, TLX, TileLang or MLIR would not look for.

Each rule gives the words to use, a pattern for prose, and the parts of identifiers that are meant.
A word with a second, proper meaning is matched only in the improper one ("takes place" is fine), or
the place is in `allowed.py`, with the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """Where a word occurs."""

    MESSAGE = "message"
    DOCSTRING = "docstring"
    COMMENT = "comment"
    DOCS = "docs"
    NAME = "name"


PROSE = frozenset({Kind.MESSAGE, Kind.DOCSTRING, Kind.COMMENT, Kind.DOCS})


@dataclass(frozen=True)
class Rule:
    """One concept: `say` this, not prose that matches `pattern` nor names with one of `parts`.

    Names that match `proper` use the part in its proper meaning.
    """

    key: str
    say: str
    pattern: re.Pattern[str] | None = None
    parts: frozenset[str] = frozenset()
    kinds: frozenset[Kind] = PROSE
    proper: re.Pattern[str] | None = None


def _rule(
    key: str,
    say: str,
    pattern: str = "",
    parts: str = "",
    kinds: frozenset[Kind] = PROSE,
    proper: str = "",
) -> Rule:
    compiled = re.compile(pattern, re.IGNORECASE) if pattern else None
    names = re.compile(proper) if proper else None
    return Rule(key, say, compiled, frozenset(parts.split()), kinds, names)


_NOUN = r"(?:a|an|the|one|its|their|each|every|this|that|other|another|same|no|which|two|some|any)"
"""A word before a noun."""

RULES: tuple[Rule, ...] = (
    # -- execution ---------------------------------------------------------------------------------
    _rule(
        "turn",
        "iteration",
        r"(?<!in )\bturns?\b"
        r"(?! (?:into|out|off|on|a|an|the|it|them|this|each|every|its|errors?)\b)",
        "turn turns",
    ),
    _rule("how often", "trip count", r"\bhow often\b"),
    _rule(
        "who",
        "thread, warp, role, task, CTA, program, op, caller",
        r"\b(?:who|whom|whoever|somebody|someone|those who)\b",
        "who whom whoever somebody",
    ),
    _rule("nobody", "no thread, no program, no op", r"\b(?:nobody|no one)\b", "nobody"),
    _rule("in step", "in lockstep, convergent", r"\bin step\b"),
    _rule("team", "convergent group; concurrent roles", r"\bteams?\b", "team teams"),
    _rule("deal out", "distribute", r"\bdeal(?:s|t|ing)? out\b"),
    _rule(
        "side by side",
        "concurrently, in parallel",
        r"\bside by side\b|\bbeside each other\b",
    ),
    _rule(
        "one after the other",
        "sequentially; for memory: contiguous",
        r"\bone (?:after|behind) (?:the other|another)\b|\bone by one\b",
    ),
    _rule(
        "chip", "target, GPU, architecture", r"(?<!on-)\bchips?\b", "chip chips", proper=r"on_chip"
    ),
    _rule("author", "user", r"\bauthors?\b", "author authors"),
    # -- memory ------------------------------------------------------------------------------------
    _rule("lie", "is allocated at, is stored at, resides in", r"\b(?:lies|lain|lying|lie|lay)\b"),
    _rule(
        "stand", "is at, is in", r"\bstands? (?:in|at|behind|between|still|there|here|alone|next)\b"
    ),
    _rule(
        "place",
        "address, offset, location, slot, source position",
        rf"\b{_NOUN} places?\b(?<!take place)",
        "place places",
        # The verb: `place_shared_memory` assigns addresses.
        proper=r"in_place|^_?place_(?!of|text|at)|^PlaceSharedMemory$",
    ),
    _rule("room", "space, capacity; package", r"\brooms?\b", "room rooms"),
    _rule(
        "touch", "access", r"\btouch(?:es|ed|ing)?\b|\bdeeds?\b", "touch touches touched deed deeds"
    ),
    _rule("change hands", "reused within an iteration", r"\bchanges? hands\b"),
    _rule("suffice", "spill; exceeds", r"\bsuffic(?:e|es|ed)\b", "suffice suffices"),
    _rule("behind", "after, past the end; end, stop", r"\bbehind\b", "behind"),
    _rule("neighbour", "contiguous, consecutive, adjacent", r"\bneighbours?\b", "neighbours"),
    _rule("piece", "chunk, tile, box, sub-tile", r"\bpieces?\b", "piece pieces"),
    _rule("slab", "shadow memory", r"\bslabs?\b", "slab slabs"),
    _rule("holder", "owner", r"\bholders?\b", "holder holders"),
    _rule("kept", "cached; retained, preserved", r"\bkept\b", "kept"),
    # -- synchronisation ---------------------------------------------------------------------------
    _rule(
        "meet",
        "synchronise; conflict; data race",
        r"\b(?:meet|meets|met|meetings?)\b",
        "meet meets meeting meetings met",
    ),
    _rule("gate", "barrier, named barrier", r"\bgates?\b", "gate gates"),
    _rule(
        "announce",
        "expect-tx, expected bytes",
        r"\bannounc\w*\b",
        "announce announced announces announcement",
    ),
    _rule("bring", "complete-tx, complete, deliver", r"\b(?:brings?|brought)\b", "brings brought"),
    _rule("tell", "signal, notify, report; distinguish", r"\b(?:tells?|told)\b", "tell tells told"),
    _rule(
        "know",
        "has the value; observes; happens-before",
        r"\bknows\b|\b(?:threads|warps|roles|programs|tasks|consumers|producers) know\b"
        r"|\bheard of\b",
        "knows",
    ),
    _rule("sure of", "is ordered after", r"\b(?:is|are|be) sure of\b"),
    _rule("under way", "in flight, pending", r"\bunder way\b|\bon the way\b"),
    _rule(
        "stuck",
        "deadlock; waits forever",
        r"\bstuck\b|\bin vain\b|\bstands? still\b|\bstandstill\b|\bfor ever\b",
        "stuck standstill",
    ),
    _rule(
        "hand back",
        "release, return, yield, forward",
        r"\bhand(?:s|ed|ing)? (?:back|on|over|out)\b|\bg[ia]ve(?:s|n)? back\b",
    ),
    _rule("overtake", "overrun", r"\bovert(?:ake|akes|aken|ook)\b|\bcomes? round\b", "overtake"),
    _rule("strand", "agent, execution", r"\bstrands?\b", "strand strands"),
    # -- matrix units ------------------------------------------------------------------------------
    _rule(
        "product",
        "MMA, wgmma; GEMM, dot",
        r"(?<!cartesian )(?<!dot )(?<!inner )(?<!outer )(?<!cumulative )(?<!running )\bproducts?\b",
        "product products",
    ),
    _rule("sums", "accumulator", r"\bthe sums\b", "sums"),
    _rule("copy engine", "TMA", r"\bcopy engines?\b|\bengines\b"),
    _rule("matrix unit", "tensor core", r"\bmatrix units?\b"),
    _rule("settle", "operand fence", r"\bsettle[sd]?\b", "settle settled"),
    # -- control flow ------------------------------------------------------------------------------
    _rule(
        "only the run knows",
        "run-time value, data-dependent",
        r"\bonly the run\b|\bthe data says?\b",
    ),
    _rule(
        "number",
        "index, id, count, size, integer",
        r"\bnumbers?\b(?! of\b)",
        "number numbers",
        frozenset({Kind.MESSAGE}),
    ),
    _rule("written out", "unrolled, fully unrolled", r"\b(?:written|writes?) out\b(?! of)"),
    _rule("in front of", "before", r"\bin front(?: of)?\b"),
    _rule(
        "way",
        "branch, condition",
        r"\b(?:one way or the other|which way|goes? (?:this|that) way)\b",
    ),
    # -- IR and compiler ---------------------------------------------------------------------------
    _rule(
        "word",
        "name, keyword, mnemonic; words are 32 bits",
        r"(?<!32-bit )(?<!machine )\bwords?\b(?! of (?:32|64) bits)",
        "word words",
    ),
    _rule(
        "say",
        "format, print, report, state",
        r"\b(?:say|says|said|saying|spell|spells|spelled|spelt)\b",
        "say says said spell spelled",
    ),
    _rule(
        "ask",
        "query, request, require; result",
        r"\b(?:ask|asks|asked|asking|answers?|answered)\b",
        "ask asks asked answer answers answered",
    ),
    _rule("made of", "consists of, is divisible into", r"\bmade (?:of|for)\b"),
    _rule("no multiple", "is not a multiple of", r"\bno multiple\b"),
    _rule("facts", "properties, metadata", r"\bfacts?\b(?<!in fact)", "fact facts"),
    _rule("promise", "guarantee, invariant", r"\bpromis\w*\b", "promise promises promised"),
    _rule("front half", "pass pipeline", r"\b(?:front|back) half\b"),
    _rule(
        "least",
        "min, max, bound",
        "",
        "least most ground grounds",
        proper=r"at_(?:least|most)|AT_LEAST|[a-z]+most",
    ),
    _rule("folder", "directory", r"\bfolders?\b", "folder folders"),
    _rule("wanted", "expected, required", r"\bwanted\b", "wanted"),
    _rule("mine", "actual; this thread's", r"\b(?:mine|theirs)\b", "mine theirs"),
    # -- diagnostics -------------------------------------------------------------------------------
    _rule("complaint", "error, warning, diagnostic", r"\bcomplain\w*\b", "complaint complaints"),
    _rule("mistake", "error, bug", r"\bmistakes?\b", "mistake mistakes"),
    _rule("way out", "suggestion, fix", r"\bways? out\b|\badvice\b", "advice"),
    _rule("for people", "human-readable", r"\bfor people\b"),
    _rule("broken on purpose", "mutant, fault injection", r"\bbroken on purpose\b|\bplanted\b"),
    _rule("picture", "diagram, memory map", r"\bdrawings?\b", "picture pictures"),
)
