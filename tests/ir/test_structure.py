"""Each structural rule is broken on purpose; the message must be the one that users know."""

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, i1, i32, i64
from xdsl.ir import Block, Region

from tests.ir.flow_ops import (
    CallOp,
    EndOp,
    PlainOp,
    check,
    detach,
    first,
    messages,
    named,
    parse,
)
from tilewright.ir.symbols import SymbolTables
from tilewright.ir.traversal import walk

# Blocks and terminators.


def test_block_without_terminator():
    module = parse("func.func @f(%x: i32) {\n %a = arith.addi %x, %x : i32\n func.return\n }")
    detach(first(module, "func.return"))
    assert check(module) == [("block with no terminator, has 'arith.addi'", [])]


def test_empty_block():
    module = parse("func.func @f() {\n func.return\n }")
    detach(first(module, "func.return"))
    assert check(module) == [("empty block: expect at least a terminator", [])]


def test_one_of_several_blocks_without_terminator():
    module = parse("""
      "no.such_op"() ({
        cf.br ^a
      ^a:
        %v = arith.constant 1 : i32
      }) : () -> ()""")
    assert check(module) == [("block with no terminator, has 'arith.constant'", [])]


def test_terminator_in_the_middle():
    module = parse("func.func @f() {\n func.return\n func.return\n }")
    assert check(module) == [
        ("'func.return' op must be the last operation in the parent block", [])
    ]


def test_jump_in_the_middle():
    module = parse("""
      func.func @f() {
        "strange.jump"()[^a] : () -> ()
        cf.br ^a
      ^a:
        func.return
      }""")
    assert check(module) == [
        ("operation with block successors must terminate its parent block", [])
    ]


def test_jump_to_another_region():
    module = parse("""
      func.func @f(%c: i1) {
        cf.br ^a
      ^a:
        "test.op"() ({
          cf.br ^b
        ^b:
          "test.end"() : () -> ()
        }) : () -> ()
        func.return
      }""")
    outer, inner = [op for op in walk(module) if op.name == "cf.br"]
    inner.successors[0] = outer.successors[0]
    assert check(module) == [("reference to block defined in another region", [])]


def test_jump_to_the_entry():
    module = parse("""
      func.func @f() {
      ^a:
        cf.br ^a
      }""")
    assert check(module) == [("entry block of region may not have predecessors", [])]


def test_wrong_parent():
    module = parse("""
      "test.op"() ({
        func.return
      }) : () -> ()""")
    assert check(module) == [("'func.return' op expects parent op 'func.func'", [])]


def test_wrong_parent_out_of_several():
    module = parse("""
      "test.op"() ({
        scf.yield
      }) : () -> ()""")
    assert check(module) == [
        (
            "'scf.yield' op expects parent op to be one of "
            "'scf.for, scf.if, scf.execute_region, scf.while, scf.index_switch'",
            [],
        )
    ]


def test_wrong_implicit_terminator():
    module = parse("""
      func.func @f(%c: i1) {
        "scf.if"(%c) ({
          "test.end"() : () -> ()
        }, {
        }) : (i1) -> ()
        func.return
      }""")
    assert check(module) == [
        (
            "'scf.if' op expects regions to end with 'scf.yield', found 'test.end'",
            ["in custom textual format, the absence of terminator implies 'scf.yield'"],
        )
    ]


def test_structured_region_with_two_blocks():
    module = parse("""
      func.func @f(%c: i1) {
        "scf.if"(%c) ({
          cf.br ^a
        ^a:
          scf.yield
        }, {
        }) : (i1) -> ()
        func.return
      }""")
    assert check(module) == [("'scf.if' op expects region #0 to have 0 or 1 blocks", [])]


def test_block_argument_without_a_type():
    module = ModuleOp([PlainOp.create(regions=[Region(Block([EndOp.create()], arg_types=[i32]))])])
    assert check(module) == []
    (op,) = module.body.block.ops
    op.regions[0].block.insert_arg(StringAttr("red"), 1)
    assert check(module) == [
        ("""'test.op' op block argument #1 has '"red"' for a type in block #0""", [])
    ]


def test_block_argument_of_another_block():
    module = ModuleOp([PlainOp.create(regions=[Region(Block([EndOp.create()], arg_types=[i32]))])])
    (op,) = module.body.block.ops
    op.regions[0].block.args[0].block = Block()
    assert check(module) == [
        ("'test.op' op block argument #0 is not owned by its block in block #0", [])
    ]


def test_unregistered_op_may_end_a_block():
    assert check(parse('func.func @f() {\n "strange.end"() : () -> ()\n }')) == []


# Values along control flow.

BRANCH_COUNT = "branch has 1 operands for successor #0, but target block has 0"


def test_branch_with_too_many_operands():
    module = parse("""
      func.func @f(%x: i32) {
        "cf.br"(%x)[^a] : (i32) -> ()
      ^a:
        func.return
      }""")
    assert messages(module) == [BRANCH_COUNT]


def test_branch_with_a_wrong_type():
    module = parse("""
      func.func @f(%x: i32, %c: i1) {
        cf.cond_br %c, ^a, ^b(%x : i32)
      ^a:
        func.return
      ^b(%p: i32):
        func.return
      }""")
    block = first(module, "cf.cond_br").successors[1]
    block.erase_arg(block.args[0])
    block.insert_arg(i64, 0)
    assert check(module) == [("type mismatch for bb argument #0 of successor #1", [])]


def yielding(good: str, operands: str) -> ModuleOp:
    return parse(f"""
      func.func @f(%x: i32, %c: i1) {{
        %r = "scf.if"(%c) ({{
          scf.yield {good} : i32
        }}, {{
          scf.yield {operands}
        }}) : (i1) -> i32
        func.return
      }}""")


def test_yield_with_too_few_operands():
    assert check(yielding("%x", "")) == [
        (
            "'scf.if' op along control flow edge from Operation scf.yield to Operation scf.if: "
            "region branch point has 0 operands, but region successor needs 1 inputs",
            [],
        )
    ]


def test_yield_with_a_wrong_type():
    assert check(yielding("%x", "%c : i1")) == [
        (
            "'scf.if' op along control flow edge from Operation scf.yield to Operation scf.if: "
            "successor operand type #0 'i1' should match successor input type #0 'i32'",
            [],
        )
    ]
    assert check(yielding("%x", "%x : i32")) == []


def test_loop_that_feeds_back_a_wrong_type():
    module = parse("""
      func.func @f(%c: i1, %x: i32) {
        %r = scf.while (%a = %x) : (i32) -> i32 {
          scf.condition(%c) %a : i32
        } do {
        ^bb0(%b: i32):
          scf.yield %b : i32
        }
        func.return
      }""")
    first(module, "scf.yield").operands[0] = named(module, "c")
    assert messages(module) == [
        "'scf.while' op along control flow edge from Operation scf.yield to Region #0: "
        "successor operand type #0 'i1' should match successor input type #0 'i32'"
    ]


def test_entering_with_a_wrong_type():
    module = parse("""
      func.func @f(%x: i32) {
        "test.specialize"(%x) ({
          "test.end"() : () -> ()
        }, {
          "test.partitions"() ({
          ^bb0(%a: i64):
            "test.end"() : () -> ()
          }) : () -> ()
        }) : (i32) -> ()
        func.return
      }""")
    assert check(module) == [
        (
            "'test.partitions' op along control flow edge from parent to Region #0: "
            "successor operand type #0 'i32' should match successor input type #0 'i64'",
            [],
        )
    ]


# Functions, calls and symbols.

CALLER = """
  func.func @g(%p: i32) -> i32 {
    func.return %p : i32
  }
  func.func @f(%x: i32, %y: i64) -> i32 {
    %r = func.call @g(%x) : (i32) -> i32
    func.return %r : i32
  }"""


def call_with(operands: list[str], result_types: list[object], callee: str = "g") -> ModuleOp:
    module = parse(CALLER)
    old = first(module, "func.call")
    new = CallOp(callee, [named(module, name) for name in operands], result_types)
    assert old.parent is not None
    old.parent.insert_op_before(new, old)
    for use in list(old.results[0].uses):
        use.operation.operands[use.index] = named(module, "x")
    detach(old)
    return module


def test_call_of_an_unknown_function():
    assert check(call_with(["x"], [i32], "h")) == [
        ("'func.call' op 'h' does not reference a valid function", [])
    ]


def test_call_of_something_else():
    module = call_with(["x"], [i32], "h")
    module.body.block.add_op(ModuleOp([], sym_name=StringAttr("h")))
    assert check(module) == [("'func.call' op 'h' does not reference a valid function", [])]


def test_call_with_wrong_operand_count():
    assert check(call_with([], [i32])) == [
        ("'func.call' op incorrect number of operands for callee", [])
    ]


def test_call_with_wrong_operand_type():
    assert check(call_with(["y"], [i32])) == [
        (
            "'func.call' op operand type mismatch: expected operand type 'i32', "
            "but provided 'i64' for operand number 0",
            [],
        )
    ]


def test_call_with_wrong_result_count():
    assert check(call_with(["x"], [])) == [
        ("'func.call' op incorrect number of results for callee", [])
    ]


def test_call_with_wrong_result_type():
    assert check(call_with(["x"], [i1])) == [
        (
            "'func.call' op result type mismatch at index 0",
            ["      op result types: 'i1'", "function result types: 'i32'"],
        )
    ]


def test_call_through_nested_tables():
    module = parse("""
      builtin.module @inner {
        func.func @g() {
          func.return
        }
      }
      func.func @f() {
        "test.op"() {sym_name = "g"} : () -> ()
        func.call @g() : () -> ()
        func.return
      }""")
    call = first(module, "func.call")
    found = {
        name: SymbolTables().lookup(call, SymbolRefAttr(name[0], name[1:]))
        for name in (("g",), ("inner",), ("inner", "g"), ("inner", "h"), ("f", "g"))
    }
    inner = first(module, "builtin.module").regions[0].block.first_op
    assert inner is not None
    assert found == {
        ("g",): None,
        ("inner",): inner,
        ("inner", "g"): first(inner, "func.func"),
        ("inner", "h"): None,
        ("f", "g"): None,
    }
    assert messages(module) == ["'func.call' op 'g' does not reference a valid function"]


def test_two_symbols_of_one_name():
    text = "func.func @f() {\n func.return\n }\n"
    assert check(parse(text + text)) == [
        ("redefinition of symbol named 'f'", ["see existing symbol definition here"])
    ]


def test_return_of_a_wrong_number():
    module = parse(CALLER)
    list(walk(module))[-1].operands = []
    assert check(module) == [
        ("'func.return' op has 0 operands, but enclosing function (@f) returns 1", [])
    ]


def test_return_of_a_wrong_type():
    module = parse(CALLER)
    list(walk(module))[-1].operands = [named(module, "y")]
    assert check(module) == [
        (
            "type of return operand 0 ('i64') doesn't match function result type ('i32') "
            "in function @f",
            [],
        )
    ]


def test_entry_block_with_wrong_arguments():
    module = parse("func.func @f(%x: i32) {\n func.return\n }")
    block = first(module, "func.func").regions[0].block
    block.erase_arg(block.args[0])
    assert check(module) == [
        ("'func.func' op entry block must have 1 arguments to match function signature", [])
    ]
    block.insert_arg(i64, 0)
    assert check(module) == [
        (
            "'func.func' op type of entry block argument #0('i64') must match the type of the "
            "corresponding argument in function signature('i32')",
            [],
        )
    ]
