"""Asynchronous copies, within a CTA and between CTAs: text of every release, checks, effects."""

import pytest
from xdsl.traits import MemoryEffectKind, get_effects

from tests.dialects.ttg_support import (
    module_text,
    objections,
    op_named,
    parse,
    printed,
    verify_in_place_of,
)
from tilewright.dialects import ttg
from tilewright.dialects.tt.attributes import CachePolicyAttr
from tilewright.dialects.ttg.effects import GLOBAL, SHARED
from tilewright.ir.text import print_module

M = "!ttg.memdesc<128xi32, #s, #smem, mutable>"
BAR = "!ttg.memdesc<1xi64, #s, #smem, mutable>"
END = ": tensor<128x!tt.ptr<i32>, #b> -> <128xi32, #s, #smem, mutable>"
COPY = f"%0 = ttg.async_copy_global_to_local %ptrs, %m {END}"

SAME_TEXT = [
    COPY,
    f"%0 = ttg.async_copy_global_to_local %ptrs, %m mask %tp {END}",
    f"%0 = ttg.async_copy_global_to_local %ptrs, %m mask %tp other %t {{contiguity = 8 : i32}} {END}",
    f"%0 = ttg.async_copy_global_to_local %ptrs, %m other %t {{isVolatile = true}} {END}",
    f"%0 = ttg.async_copy_global_to_local %ptrs, %m {{async_task_id = array<i32: 0>}} {END}",
    "%0 = ttg.async_wait {num = 0 : i32}",
    "%0 = ttg.async_wait %token, %token {num = 2 : i32}",
    "%0 = ttg.async_commit_group",
    "%0 = ttg.async_commit_group tokens %token, %token",
    f"ttg.remote_shmem_store %t, rank %i, %m : tensor<128xi32, #b> -> {M}",
    f"ttg.async_remote_shmem_store %t, rank %i, %m barrier %bar : tensor<128xi32, #b> -> {M} barrier_ty {BAR}",
    f"ttg.async_remote_shmem_copy %m, rank %i, %m barrier %bar : {M} -> {M} barrier_ty {BAR}",
]


@pytest.mark.parametrize("body", SAME_TEXT)
@pytest.mark.parametrize("flavour", ["triton-3.6", "triton-3.9", "tlx"])
def test_text_comes_back(body: str, flavour: str):
    assert printed(body, flavour) == body


OLD = f"%0 = ttg.async_copy_global_to_local %ptrs, %m mask %tp cacheModifier = ca evictionPolicy = evict_first {{contiguity = 4 : i32}} {END}"
NEW = (
    "%0 = ttg.async_copy_global_to_local %ptrs, %m mask %tp {cachePolicy = "
    f"#tt.cache_policy<cache_modifier = ca, eviction_policy = evict_first>, contiguity = 4 : i32}} {END}"
)


@pytest.mark.parametrize("given", [OLD, NEW])
def test_cache_policies(given: str):
    for flavour in ("triton-3.6", "triton-3.7", "triton-3.8", "tlx"):
        assert printed(given, flavour) == OLD
    assert printed(given, "triton-3.9") == NEW


BULK = (
    "%0 = ttg.async_copy_global_to_local %ptrs, %m bulk_size %i : i32 barrier %bar : "
    f"{BAR} {{useBulk = true}} {END}"
)


def test_bulk_copy_of_tlx():
    assert printed(BULK, "tlx") == BULK
    op = op_named(parse(module_text(BULK)), "ttg.async_copy_global_to_local")
    assert isinstance(op, ttg.AsyncCopyGlobalToLocalOp)
    assert op.bulk_size is not None and op.barrier is not None and op.mask is None
    assert bool(op.use_bulk.value.data)


@pytest.mark.parametrize("segments", ["1, 1, 1, 0", "1, 1, 1, 0, 0, 0"])
def test_generic_text_with_and_without_the_operands_of_tlx(segments: str):
    body = (
        f'%0 = "ttg.async_copy_global_to_local"(%ptrs, %m, %tp) <{{cache = 2 : i32, evict = 3 : i32, '
        f"operandSegmentSizes = array<i32: {segments}>}}> : (tensor<128x!tt.ptr<i32>, #b>, {M}, tensor<128xi1, #b>) -> !ttg.async.token"
    )
    assert printed(body, "triton-3.8") == (
        f"%0 = ttg.async_copy_global_to_local %ptrs, %m mask %tp cacheModifier = ca evictionPolicy = evict_last {END}"
    )


@pytest.mark.parametrize("body", [*SAME_TEXT, NEW, BULK])
def test_generic_text_means_the_same(body: str):
    module = parse(module_text(body))
    assert print_module(parse(print_module(module, generic=True))) == print_module(module)


REFUSED = {
    "%0 = ttg.async_copy_global_to_local %ptrs, %fixed : tensor<128x!tt.ptr<i32>, #b> -> <128xi32, #s, #smem>": "Cannot store into immutable memory",
    "%0 = ttg.async_copy_global_to_local %t, %m : tensor<128xi32, #b> -> <128xi32, #s, #smem, mutable>": "operand #0 must be ranked tensor of ptr values, but got 'tensor<128xi32",
    f"%0 = ttg.async_copy_global_to_local %ptrs, %m mask %t {END}": "use of value '%t' expects different type than prior uses: 'tensor<128xi1",
    f"%0 = ttg.async_copy_global_to_local %ptrs, %m other %tp {END}": "use of value '%tp' expects different type than prior uses: 'tensor<128xi32",
    f'%0 = "ttg.async_copy_global_to_local"(%ptrs, %m, %t) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> : (tensor<128x!tt.ptr<i32>, #b>, {M}, tensor<128xi32, #b>) -> !ttg.async.token': "operand #2 must be tensor of 1-bit signless integer values, but got 'tensor<128xi32",
    f'%0 = "ttg.async_copy_global_to_local"(%ptrs, %m, %x) <{{operandSegmentSizes = array<i32: 1, 1, 0, 1>}}> : (tensor<128x!tt.ptr<i32>, #b>, {M}, tensor<32x32xf32, #b2>) -> !ttg.async.token': "failed to verify that infer other type from src type",
    '%0 = "ttg.async_wait"() : () -> !ttg.async.token': "requires attribute 'num'",
    '%0 = "ttg.async_wait"(%i) <{num = 0 : i32}> : (i32) -> !ttg.async.token': "operand #0 must be variadic of",
    f"ttg.remote_shmem_store %t, rank %j, %m : tensor<128xi32, #b> -> {M}": "expects different type than prior uses: 'i32' vs 'i64'",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str):
    (message,) = objections(module_text(body))
    assert REFUSED[body] in message


def test_a_copy_reads_global_and_writes_shared_memory():
    op = op_named(parse(module_text(COPY)), "ttg.async_copy_global_to_local")
    effects = {(e.kind, e.value, e.resource) for e in get_effects(op) or ()}
    assert effects == {
        (MemoryEffectKind.READ, op.operands[0], GLOBAL),
        (MemoryEffectKind.WRITE, op.operands[1], SHARED),
    }


def test_remote_writes():
    op = op_named(parse(module_text(SAME_TEXT[11])), "ttg.async_remote_shmem_copy")
    effects = {(e.kind, e.value) for e in get_effects(op) or ()}
    source, target, _, barrier = op.operands
    assert effects == {
        (MemoryEffectKind.READ, source),
        (MemoryEffectKind.WRITE, target),
        (MemoryEffectKind.WRITE, barrier),
    }


@pytest.mark.parametrize("name", ["ttg.async_wait", "ttg.async_commit_group"])
def test_waiting_is_never_dropped(name: str):
    body = next(text for text in SAME_TEXT if name in text)
    assert get_effects(op_named(parse(module_text(body)), name)) is None


def test_built_by_hand():
    op = op_named(parse(module_text(COPY)), "ttg.async_copy_global_to_local")
    pointers, buffer = op.operands
    policy = CachePolicyAttr.get("cg")
    copy = ttg.AsyncCopyGlobalToLocalOp(pointers, buffer, policy=policy, contiguity=4)
    group = ttg.AsyncCommitGroupOp([copy])
    wait = ttg.AsyncWaitOp([group], 1)
    verify_in_place_of(op, copy, group, wait)
    assert copy.cache_modifier == "cg"
    assert copy.contiguity.value.data == 4
    assert wait.num.value.data == 1


def test_remote_copies_built_by_hand():
    op = op_named(parse(module_text(SAME_TEXT[10])), "ttg.async_remote_shmem_store")
    value, buffer, rank, barrier = op.operands
    copy = ttg.AsyncRemoteShmemCopyOp(buffer, buffer, rank, barrier)
    verify_in_place_of(
        op,
        ttg.RemoteShmemStoreOp(value, buffer, rank),
        ttg.AsyncRemoteShmemStoreOp(value, buffer, rank, barrier),
        copy,
    )
    assert copy.cta_rank is rank
