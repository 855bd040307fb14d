"""Different code for different warps and lanes: text, locations, checks, control flow."""

import pytest
from xdsl.dialects.builtin import NameLoc, i32, i64
from xdsl.ir import Block, Region
from xdsl.traits import RecursiveMemoryEffect

from tests.dialects.ttg_support import module_text, objections, op_named, parse, printed
from tilewright.dialects import ttg
from tilewright.dialects.ttg.context import num_warps_at
from tilewright.ir.interfaces import RegionBranch
from tilewright.ir.text import print_module

SPECIALIZED = """\
%0:2 = ttg.warp_specialize(%i, %j) attributes {requestedRegisters = array<i32: 24, 32>, warpGroupStartIds = array<i32: 4, 8>}
default {
  %1 = arith.addi %i, %i : i32
  ttg.warp_yield %1, %j : i32, i64
}
partition0(%arg2: i32, %arg3: i64) num_warps(4) {
  ttg.warp_return
}
partition1(%arg2: i32, %arg3: i64) num_warps(2) {
  %1 = arith.addi %arg2, %arg2 : i32
  cf.br ^bb1
^bb1:  // pred: ^bb0
  ttg.warp_return
} : (i32, i64) -> (i32, i64)"""

ALONE = """\
ttg.warp_specialize()
default {
  ttg.warp_yield
} : () -> ()"""

TLX = """\
ttg.warp_specialize(%i) attributes {actualRegisters = array<i32: 80, 24>, defaultRequestedRegisters = 80 : i32, requestedRegisters = array<i32: 24>, tlx.exclusive}
default {
  ttg.warp_yield
}
partition0(%arg1: i32) num_warps(4) {
  ttg.warp_return
} : (i32) -> ()"""

PREDICATED = """\
%0 = ttg.warp_predicate %tp(%t) {
  %1 = arith.addi %t, %t : tensor<128xi32, #b>
  ttg.predicate_yield %1 : tensor<128xi32, #b>
} {wave_uniform} : (tensor<128xi1, #b>, tensor<128xi32, #b>) -> tensor<128xi32, #b>"""


@pytest.mark.parametrize("body", [SPECIALIZED, ALONE, TLX, PREDICATED])
def test_text_comes_back(body: str):
    assert printed(body) == body


@pytest.mark.parametrize("body", [SPECIALIZED, ALONE, TLX, PREDICATED])
def test_generic_text_means_the_same(body: str):
    module = parse(module_text(body))
    assert print_module(parse(print_module(module, generic=True))) == print_module(module)


def test_a_space_before_the_initial_values():
    assert printed(PREDICATED.replace("%tp(", "%tp (")) == PREDICATED


def test_names_may_be_used_again_in_partitions():
    body = TLX.replace("%arg1: i32", "%i: i32")
    assert printed(body) == TLX.replace("%arg1: i32", "%i_0: i32")


def test_locations_of_partition_arguments():
    body = TLX.replace("%arg1: i32", '%arg1: i32 loc("x"("k.py":3:1))')
    module = parse(module_text(body))
    (region,) = op_named(module, "ttg.warp_specialize").partitions
    location = region.block.args[0].location
    assert isinstance(location, NameLoc)
    text = print_module(module, locations=True)
    assert 'partition0(%x: i32 loc("x"(#loc' in text
    assert print_module(parse(text), locations=True) == text


def test_the_partitions_belong_to_a_hidden_op():
    op = op_named(parse(module_text(SPECIALIZED)), "ttg.warp_specialize")
    assert isinstance(op, ttg.WarpSpecializeOp)
    hidden = op.partition_op
    assert [value.type for value in op.captures] == [i32, i64]
    assert list(hidden.regions) == list(op.partitions)
    assert op.num_partition_warps == (4, 2)
    assert "warp_specialize.partitions" not in print_module(op.parent_op().parent_op())


def test_number_of_warps():
    op = op_named(parse(module_text(SPECIALIZED)), "ttg.warp_specialize")
    assert num_warps_at(op) == 4
    assert num_warps_at(op.default_region.block.first_op) == 4
    assert [num_warps_at(region.blocks[0].first_op) for region in op.partitions] == [4, 2]


def test_layouts_in_partitions_fit_the_warps_there():
    body = """\
ttg.warp_specialize(%m)
default {
  ttg.warp_yield
}
partition0(%buffer: !ttg.memdesc<128xi32, #s, #smem, mutable>) num_warps(2) {
  %0 = ttg.local_load %buffer : !ttg.memdesc<128xi32, #s, #smem, mutable> -> tensor<128xi32, #b>
  ttg.warp_return
} : (!ttg.memdesc<128xi32, #s, #smem, mutable>) -> ()"""
    (message,) = objections(module_text(body))
    assert "Layout has 4 warps per CTA, but the context requires 2 warps per CTA." in message
    assert objections(module_text(body.replace("num_warps(2)", "num_warps(4)"))) == []


# What is refused.


def specialized(
    head: str = "()", default: str = "ttg.warp_yield", partition: str = "", end: str = "() -> ()"
) -> str:
    return f"ttg.warp_specialize{head}\ndefault {{\n{default}\n}}\n{partition} : {end}"


def partition(number: int, arguments: str, warps: int, body: str = "ttg.warp_return") -> str:
    return f"partition{number}({arguments}) num_warps({warps}) {{\n{body}\n}}\n"


REFUSED = {
    specialized(
        partition=partition(0, "", 3)
    ): "partition #0 number of warps (3) must be a power of 2",
    specialized(
        partition=partition(0, "%a: i32", 4)
    ): "partition region #0 has 1 arguments but expected 0",
    specialized(
        "(%i)", partition=partition(0, "%a: i64", 4), end="(i32) -> ()"
    ): "partition region #0 argument #0 has type 'i64' but corresponding capture has type 'i32'",
    "%0 = " + specialized(end="() -> i32"): "has 0 operands but parent op expected 1",
    "%0 = "
    + specialized(
        default="ttg.warp_yield %j : i64", end="() -> i32"
    ): "operand #0 has type 'i64' but parent op expected 'i32'",
    specialized(
        default=specialized() + "\nttg.warp_yield"
    ): "cannot be nested inside another `ttg.warp_specialize` op",
    specialized(
        "() attributes {warpGroupStartIds = array<i32: 4>}",
        partition=partition(0, "", 2) + partition(1, "", 1),
    ): "has 1 warp group start IDs but expected 2",
    specialized(
        partition=partition(0, "", 2, "")
    ): "region #0 ('partitionRegions') failed to verify constraint: region with at least 1 blocks",
    '"ttg.warp_specialize"() ({\n"ttg.warp_yield"() : () -> ()\n}, {\n"ttg.warp_yield"() : () -> ()\n}) {partitionNumWarps = array<i32>} : () -> ()': "expected to find only a `ttg.warp_specialize.partitions` op inside its second region",
    '"ttg.warp_specialize"() ({\n"ttg.warp_yield"() : () -> ()\n}, {\n"ttg.warp_specialize.partitions"() : () -> ()\n}) {partitionNumWarps = array<i32: 1>} : () -> ()': "has 0 partitions but `partitionNumWarps` has 1 elements",
    specialized(
        "(%i)",
        partition=partition(0, "%a: i32", 4, "%c = arith.addi %i, %a : i32\nttg.warp_return"),
        end="(i32) -> ()",
    ): "use of undeclared SSA value name '%i'",
    specialized("(%i, %j)", end="(i32) -> ()"): "expected 1 operand types but had 2",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str):
    (message,) = objections(module_text(body))
    assert REFUSED[body] in message


def test_warp_groups_have_four_warps():
    text = module_text(specialized()).replace('"ttg.num-warps" = 4', '"ttg.num-warps" = 2')
    assert objections(text) == ["warp-specialized kernels requires num_warps to be a multiple of 4"]


@pytest.mark.parametrize(
    ("body", "parent"),
    [
        ("ttg.warp_yield", "ttg.warp_specialize"),
        ("ttg.warp_return", "ttg.warp_specialize.partitions"),
        ("ttg.predicate_yield", "ttg.warp_predicate"),
    ],
)
def test_ends_stand_in_their_ops(body: str, parent: str):
    assert f"expects parent op '{parent}'" in objections(module_text(body))


PREDICATE_REFUSED = {
    PREDICATED.replace(
        "ttg.predicate_yield %1 : tensor<128xi32, #b>", "ttg.predicate_yield"
    ): "expected equal numbers of inits, results, and yields, but got 1, 1, and 0",
    PREDICATED.replace(
        "  %1 =", "  ttg.barrier none\n  %1 ="
    ): "region may not contain CTA barriers",
    PREDICATED.replace(
        "  %1 =", "  scf.if %p {\n  }\n  %1 ="
    ): "region may not contain nested dynamic control flow",
    "%0 = ttg.warp_predicate %tp(%x) {\n  ttg.predicate_yield %x : tensor<32x32xf32, #b2>\n} : (tensor<128xi1, #b>, tensor<32x32xf32, #b2>) -> tensor<32x32xf32, #b2>": "predicate shape must be a leading shape of every carried tensor",
    '%0 = "ttg.warp_predicate"(%tp, %t) ({\n^bb0(%a: tensor<128xi32, #b>):\n  "ttg.predicate_yield"(%a) : (tensor<128xi32, #b>) -> ()\n}) : (tensor<128xi1, #b>, tensor<128xi32, #b>) -> tensor<128xi32, #b>': "region block must not have arguments",
}


@pytest.mark.parametrize("body", PREDICATE_REFUSED)
def test_predicates_refused(body: str):
    assert PREDICATE_REFUSED[body] in objections(module_text(body))[0]


# Control flow.


def test_captures_flow_into_every_partition():
    op = op_named(parse(module_text(SPECIALIZED)), "ttg.warp_specialize")
    branch = op.get_trait(RegionBranch)
    assert [edge.target for edge in branch.successors(op, op)] == list(op.regions)
    hidden = op.partition_op
    edges = hidden.get_trait(RegionBranch).successors(hidden, hidden)
    assert [edge.target for edge in edges] == list(op.partitions)
    for edge in edges:
        assert tuple(edge.operands) == tuple(hidden.operands)
        assert tuple(edge.inputs) == tuple(edge.target.blocks[0].args)
    for region in op.partitions:
        assert hidden.get_trait(RegionBranch).successors(hidden, region) == ()


def test_results_come_from_the_default_region():
    op = op_named(parse(module_text(SPECIALIZED)), "ttg.warp_specialize")
    (edge,) = op.get_trait(RegionBranch).successors(op, op.default_region)
    assert edge.source.name == "ttg.warp_yield"
    assert tuple(edge.operands) == tuple(edge.source.operands)
    assert tuple(edge.inputs) == tuple(op.results)
    assert op.get_trait(RegionBranch).successors(op, op.partition_op_holder) == ()


def test_lanes_that_are_off_keep_the_initial_values():
    op = op_named(parse(module_text(PREDICATED)), "ttg.warp_predicate")
    branch = op.get_trait(RegionBranch)
    inside, around = branch.successors(op, op)
    assert inside.target is op.regions[0]
    assert tuple(around.operands) == (op.operands[1],)
    assert tuple(around.inputs) == tuple(op.results)
    (back,) = branch.successors(op, op.regions[0])
    assert back.source.name == "ttg.predicate_yield"


@pytest.mark.parametrize(
    "cls", [ttg.WarpSpecializeOp, ttg.WarpSpecializePartitionsOp, ttg.WarpPredicateOp]
)
def test_effects_are_those_of_the_regions(cls):
    assert cls.get_trait(RecursiveMemoryEffect) is not None


def test_built_by_hand():
    outside = Block(arg_types=[i32])
    default = Region(Block([ttg.WarpYieldOp(outside.args)]))
    other = Region(Block([ttg.WarpReturnOp()], arg_types=[i32]))
    op = ttg.WarpSpecializeOp(outside.args, default, [other], [4], [i32])
    op.verify_()
    op.partition_op.verify_()
    assert op.num_partition_warps == (4,)
    assert op.results[0].type == i32
