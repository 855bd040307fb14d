"""Launches that run in sequence on the same buffers: tensors, plan file and result of all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType

from tilewright.dialects.tensix.plan import VERSION, Plan, TensorPlan
from tilewright.targets.tenstorrent.execution import RunResult, Traffic


def tensors_of_chain(plans: Sequence[Plan]) -> tuple[TensorPlan, ...]:
    """The tensors of all launches by position, with the role that they have for the caller.

    A tensor that the first launch which uses it writes as a whole is an output; one that no
    launch writes is an input.
    """
    found: dict[int, TensorPlan] = {}
    for plan in plans:
        for tensor in plan.tensors:
            first = found.setdefault(tensor.arg, tensor)
            if first.role == "input" and tensor.role != "input":
                found[tensor.arg] = replace(first, role="inout")
    return tuple(found[position] for position in sorted(found))


def chain_json(plans: Sequence[Plan]) -> str:
    """The text of ``tt.plan.json``: the plan, or the plans of all launches in order."""
    if len(plans) == 1:
        return plans[0].to_json()
    data = {
        "version": VERSION,
        "target": plans[0].target,
        "arch": plans[0].arch,
        "launches": [each.to_data() for each in plans],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def chained(results: Sequence[RunResult], contents: Mapping[str, bytes]) -> RunResult:
    """One result of several launches: findings of the last, the traffic of all together."""
    *before, last = results
    if not before:
        return last
    totals = {
        each.name: sum(getattr(result.traffic, each.name) for result in results)
        for each in fields(Traffic)
    }
    reads: dict[str, int] = {}
    for result in results:
        for name, count in result.page_reads.items():
            reads[name] = reads.get(name, 0) + count
    return replace(
        last,
        buffers=MappingProxyType({**last.buffers, **contents}),
        traffic=Traffic(**totals),
        prints=tuple(line for result in results for line in result.prints),
        switches=sum(result.switches for result in results),
        events=tuple(event for result in results for event in result.events),
        page_reads=MappingProxyType(reads),
        launches=tuple(results),
    )
