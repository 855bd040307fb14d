"""Do the barriers of a kernel order what they have to order?

``teams`` finds who runs side by side, ``trace`` writes down what each of them does for given
numbers of turns, and ``order`` decides, from the barriers alone, what happens before what: who may
wait for ever, which access may meet which, whether announced bytes arrive.

    for team in teams(kernel):
        for turns, members in traces(team, team.questions()):
            check(members)      ->  a Fault, or nothing

The answer does not depend on a schedule: a wait guarantees only what follows from the order of
events, never what happened to be done already. It holds for the numbers of turns that were tried,
0 to twice the number of slots and one more, after which slots and parities come round again.
"""

from tilewright.analysis.barriers.events import Fault, FaultKind
from tilewright.analysis.barriers.order import check
from tilewright.analysis.barriers.teams import Team, Turns, teams
from tilewright.analysis.barriers.trace import NotAnalysed, Trace, traces

__all__ = [
    "Fault",
    "FaultKind",
    "NotAnalysed",
    "Team",
    "Trace",
    "Turns",
    "check",
    "teams",
    "traces",
]
