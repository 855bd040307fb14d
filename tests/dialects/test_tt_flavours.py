"""Text that differs between releases: all of it is read, one form is kept, each can be written."""

from dataclasses import replace

import pytest
from xdsl.dialects.builtin import f16

from tests.dialects.text_support import body_of, messages, parse, returning
from tests.dialects.tt_support import kernel, named
from tilewright.dialects.tt import (
    CachePolicyAttr,
    DescriptorLoadOp,
    DescriptorReduceOp,
    LoadOp,
    PtrType,
    StoreOp,
    TensorDescType,
)
from tilewright.ir.text import print_module
from tilewright.ir.text.flavour import TLX, TRITON_3_6, TRITON_3_7, TRITON_3_8, TRITON_3_9
from tilewright.ir.traversal import walk

BEFORE_3_8 = (TRITON_3_6, TRITON_3_7)
BEFORE_3_9 = (TRITON_3_6, TRITON_3_7, TRITON_3_8)


def printed(text: str, flavour) -> list[str]:
    plain = replace(flavour, names_from_locations=False)
    return body_of(print_module(parse(text), flavour=plain))


def only(op_class, text: str):
    """The only op of a class in `text`."""
    (found,) = [op for op in walk(parse(text)) if isinstance(op, op_class)]
    return found


def in_3_9(modifier: str, eviction: str) -> str:
    return (
        f"cachePolicy = #tt.cache_policy<cache_modifier = {modifier}, eviction_policy = {eviction}>"
    )


ACCESSES = [
    (
        "%0 = tt.load %p cacheModifier = ca : !tt.ptr<f32>",
        f"%0 = tt.load %p {{{in_3_9('ca', 'evict_normal')}}} : !tt.ptr<f32>",
    ),
    (
        "%0 = tt.load %ps, %m, %v evictionPolicy = evict_first {isVolatile = true} : tensor<8x!tt.ptr<f32>>",
        f"%0 = tt.load %ps, %m, %v {{{in_3_9('none', 'evict_first')}, isVolatile = true}} : tensor<8x!tt.ptr<f32>>",
    ),
    (
        "%0 = tt.load %p cacheModifier = cv evictionPolicy = evict_last {a} : !tt.ptr<f32>",
        f"%0 = tt.load %p {{a, {in_3_9('cv', 'evict_last')}}} : !tt.ptr<f32>",
    ),
    (
        "tt.store %ps, %v, %m cacheModifier = cs evictionPolicy = evict_last : tensor<8x!tt.ptr<f32>>",
        f"tt.store %ps, %v, %m {{{in_3_9('cs', 'evict_last')}}} : tensor<8x!tt.ptr<f32>>",
    ),
    ("tt.store %p, %f : !tt.ptr<f32>", "tt.store %p, %f : !tt.ptr<f32>"),
]


@pytest.mark.parametrize(("before", "now"), ACCESSES)
@pytest.mark.parametrize("flavour", [*BEFORE_3_9, TLX], ids=lambda flavour: flavour.name)
def test_cache_clauses(before: str, now: str, flavour):
    for text in (kernel(before), kernel(now)):
        assert printed(text, flavour) == [named(before)]
        assert printed(text, TRITON_3_9) == [named(now)]


def test_cache_clauses_in_any_order():
    text = kernel("%0 = tt.load %p evictionPolicy = evict_first cacheModifier = cg : !tt.ptr<f32>")
    assert only(LoadOp, text).policy == CachePolicyAttr.get("cg", "evict_first")


def test_cache_clause_only_once():
    text = kernel("%0 = tt.load %p cacheModifier = ca cacheModifier = ca : !tt.ptr<f32>")
    assert messages(text) == ["expected ':'"]


def test_descriptor_loads_have_policies_too():
    before = "%0 = tt.descriptor_load %desc[%i, %i] evictionPolicy = evict_last : !tt.tensordesc<8x8xf32> -> tensor<8x8xf32>"
    now = f"%0 = tt.descriptor_load %desc[%i, %i] {{{in_3_9('none', 'evict_last')}}} : !tt.tensordesc<8x8xf32> -> tensor<8x8xf32>"
    assert printed(kernel(before), TRITON_3_9) == [named(now)]
    assert printed(kernel(now), TRITON_3_8) == [named(before)]
    load = only(DescriptorLoadOp, kernel(before))
    assert (load.cache_modifier, load.eviction_policy) == ("none", "evict_last")


@pytest.mark.parametrize("brackets", ["<{{{}}}>", "{{{}}}"], ids=["properties", "attributes"])
def test_generic_text_of_older_releases(brackets: str):
    """Enumerations, as properties or, before MLIR had them, as attributes."""
    entries = "cache = 2 : i32, evict = 3 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>"
    load = only(
        LoadOp, kernel(f'%0 = "tt.load"(%p) {brackets.format(entries)} : (!tt.ptr<f32>) -> f32')
    )
    assert load.policy == CachePolicyAttr.get("ca", "evict_last")
    assert load.attributes == {}


def test_generic_text_of_older_releases_with_nothing_special():
    entries = "boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32"
    store = only(StoreOp, kernel(f'"tt.store"(%p, %f) <{{{entries}}}> : (!tt.ptr<f32>, f32) -> ()'))
    assert store.policy is None
    assert (store.cache_modifier, store.eviction_policy) == ("none", "evict_normal")


def test_policy_of_another_dialect_is_written_as_far_as_it_can_be():
    text = kernel(
        "%0 = tt.load %p {cachePolicy = #ttng.cache_policy<cache_modifier = cg>} : !tt.ptr<f32>"
    )
    assert printed(text, TRITON_3_8) == [named("%0 = tt.load %p cacheModifier = cg : !tt.ptr<f32>")]


# Types.

LAYOUT = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"


def type_in(written: str) -> PtrType | TensorDescType:
    """The type of the only argument of a function."""
    (function,) = parse(f"tt.func private @f({written})").body.block.ops
    return function.function_type.inputs.data[0]


def written_as(type: str, flavour) -> str:
    text = print_module(parse(f"tt.func private @f({type})"), flavour=flavour)
    (line,) = [line for line in text.splitlines() if "tt.func" in line]
    return line[line.index("(") + 1 : -1]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("!tt.tensordesc<tensor<8x64xf16>>", "!tt.tensordesc<8x64xf16>"),
        ("!tt.tensordesc<tensor<8x64xui8>>", "!tt.tensordesc<8x64xui8>"),
        ("!tt.tensordesc<tensor<8x64xf16, #shared>>", "!tt.tensordesc<8x64xf16, #shared>"),
    ],
)
def test_descriptor_types(before: str, now: str):
    full = before.replace("#shared", LAYOUT), now.replace("#shared", LAYOUT)
    assert type_in(full[0]) == type_in(full[1])
    for written in full:
        assert [written_as(written, flavour) for flavour in BEFORE_3_8] == [before] * 2
        assert [written_as(written, flavour) for flavour in (TRITON_3_8, TRITON_3_9, TLX)] == [
            now
        ] * 3


@pytest.mark.parametrize(
    ("written", "by_3_8", "by_3_9"),
    [
        ("!tt.ptr<f16>", "!tt.ptr<f16>", "!tt.ptr<f16>"),
        ("!tt.ptr<f16, 1>", "!tt.ptr<f16>", "!tt.ptr<f16>"),
        ('!tt.ptr<f16, "global">', "!tt.ptr<f16>", "!tt.ptr<f16>"),
        ("!tt.ptr<f16, 3>", "!tt.ptr<f16, 3>", "!tt.ptr<f16, 3>"),
        ('!tt.ptr<f16, "constant">', "!tt.ptr<f16>", '!tt.ptr<f16, "constant">'),
        ('!tt.ptr<i8, "descriptor">', "!tt.ptr<i8>", '!tt.ptr<i8, "descriptor">'),
        ("!tt.ptr<!tt.ptr<f16>>", "!tt.ptr<!tt.ptr<f16>>", "!tt.ptr<!tt.ptr<f16>>"),
    ],
)
def test_pointer_types(written: str, by_3_8: str, by_3_9: str):
    assert written_as(written, TRITON_3_8) == by_3_8
    assert written_as(written, TLX) == by_3_8
    assert written_as(written, TRITON_3_9) == by_3_9


def test_descriptors_of_older_releases_in_ops():
    now = "%0 = tt.make_tensor_descriptor %p, [%i, %i], [%l, %l] : <f32>, <8x64xf32>"
    before = "%0 = tt.make_tensor_descriptor %p, [%i, %i], [%l, %l] : <f32>, <tensor<8x64xf32>>"
    tlx = "%0 = tt.make_tensor_descriptor %p, [%i, %i], [%l, %l] : !tt.ptr<f32>, !tt.tensordesc<8x64xf32>"
    for text in (kernel(now), kernel(before), kernel(tlx)):
        assert printed(text, TRITON_3_9) == [named(now)]
        assert printed(text, TRITON_3_7) == [named(before)]
        assert printed(text, TLX) == [named(tlx)]


# Block pointers.

BLOCK = "!tt.ptr<tensor<4x8xf32>>"
BLOCK_POINTERS = [
    "%0 = tt.make_tensor_ptr %arg0, [%arg2, %arg2], [%arg2, %arg2], [%arg1, %arg1] {order = array<i32: 1, 0>} : <tensor<4x8xf32>>",
    "%0 = tt.advance %arg3, [%arg1, %arg1] {a} : <tensor<4x8xf32>>",
    f"%0 = tt.load %arg3 : {BLOCK}",
    f"%0 = tt.load %arg3 {{boundaryCheck = array<i32: 0, 1>, padding = 2 : i32}} : {BLOCK}",
    f"%0 = tt.load %arg3 cacheModifier = cg {{boundaryCheck = array<i32: 1>}} : {BLOCK}",
    f"tt.store %arg3, %arg4 {{boundaryCheck = array<i32: 0>}} : {BLOCK}",
    f"tt.store %arg3, %arg4, %arg5 : {BLOCK}",
]
BLOCK_ARGUMENTS = (
    "!tt.ptr<f32>",
    "i32",
    "i64",
    BLOCK,
    "tensor<4x8xf32>",
    "tensor<4x8xi1>",
    "!tt.ptr<i32>",
)


@pytest.mark.parametrize("body", BLOCK_POINTERS)
@pytest.mark.parametrize("flavour", BEFORE_3_8, ids=lambda flavour: flavour.name)
def test_block_pointers(body: str, flavour):
    assert printed(returning(body, *BLOCK_ARGUMENTS), flavour) == [body]


@pytest.mark.parametrize("body", BLOCK_POINTERS)
def test_block_pointers_in_generic_form(body: str):
    plain = replace(TRITON_3_7, names_from_locations=False)
    text = returning(body, *BLOCK_ARGUMENTS)
    assert printed(print_module(parse(text), generic=True, flavour=plain), plain) == [body]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '%0 = "tt.make_tensor_ptr"(%arg6, %arg2, %arg1) <{order = array<i32: 0>}> : (!tt.ptr<i32>, i64, i32) -> !tt.ptr<tensor<4xf32>>',
            "'tt.make_tensor_ptr' op requires the same number of values in each of its 3 variadic operands, but found 2 in all",
        ),
        (
            '%0 = "tt.make_tensor_ptr"(%arg6, %arg2, %arg2, %arg1) <{order = array<i32: 0>}> : (!tt.ptr<i32>, i64, i64, i32) -> !tt.ptr<tensor<4xf32>>',
            "'tt.make_tensor_ptr' op failed to verify that infer pointer type from the result type",
        ),
        (
            "%0 = tt.make_tensor_ptr %arg0, [%arg2], [%arg2], [%arg1] {order = array<i32: 0>} : !tt.ptr<f32>",
            "custom op 'tt.make_tensor_ptr' 'result' must be ptr, but got '!tt.ptr<f32>'",
        ),
        (
            "%0 = tt.advance %arg0, [%arg1] : <f32>",
            "'tt.advance' op operand #0 must be ptr, but got '!tt.ptr<f32>'",
        ),
        (
            "%0 = tt.advance %arg3, [%arg1, %arg1, %arg1] : <tensor<4x8xf32>>",
            "'tt.advance' op has 3 offsets for a block of rank 2",
        ),
        (
            f"tt.store %arg3, %arg0 : {BLOCK}",
            "use of value '%arg0' expects different type than prior uses: 'tensor<4x8xf32>' vs '!tt.ptr<f32>'",
        ),
    ],
)
def test_faults_of_block_pointers(body: str, message: str):
    assert message in messages(returning(body, *BLOCK_ARGUMENTS))


# TLX.


def test_stochastic_rounding():
    tlx = "%0 = tt.fp_to_fp %v, rbits = %vi : tensor<8xi32>, rounding = rs {a} : tensor<8xf32> -> tensor<8xf8E4M3FN>"
    assert printed(kernel(tlx), TLX) == [named(tlx)]
    scalar = "%0 = tt.fp_to_fp %f, rounding = rs, rbits = %i : i32 : f32 -> f16"
    assert printed(kernel(scalar), TLX) == [
        named("%0 = tt.fp_to_fp %f, rbits = %i : i32, rounding = rs : f32 -> f16")
    ]


def test_dictionary_of_conversions_stands_elsewhere():
    tlx = "%0 = tt.fp_to_fp %f, rounding = rtne {a} : f32 -> f16"
    triton = "%0 = tt.fp_to_fp %f {a}, rounding = rtne : f32 -> f16"
    for text in (kernel(tlx), kernel(triton)):
        assert printed(text, TLX) == [named(tlx)]
        assert printed(text, TRITON_3_9) == [named(triton)]


def test_descriptor_in_given_memory():
    tlx = "%0 = tt.make_tensor_descriptor %p, [%i], [%l], descPtr = %pi : !tt.ptr<i32> {padding = 2 : i32} : !tt.ptr<f32>, !tt.tensordesc<64xf32>"
    assert printed(kernel(tlx), TLX) == [named(tlx)]
    wrong = tlx.replace("descPtr", "place")
    assert messages(kernel(wrong)) == ["expected 'descPtr' keyword"]


def test_store_with_reduction_is_a_reduction():
    store = "tt.descriptor_store %desc[%i, %i], %block reduce_kind = max {a} : !tt.tensordesc<8x8xf32>, tensor<8x8xf32>"
    reduce = only(DescriptorReduceOp, kernel(store))
    assert reduce.kind.value.data == 3
    assert printed(kernel(store), TLX) == [
        named(
            "tt.descriptor_reduce max, %desc[%i, %i], %block {a} : !tt.tensordesc<8x8xf32>, tensor<8x8xf32>"
        )
    ]


@pytest.mark.parametrize(
    ("number", "op"), [(0, "tt.descriptor_store"), (1, "tt.descriptor_reduce add,")]
)
def test_store_with_reduction_in_generic_form(number: int, op: str):
    generic = f'"tt.descriptor_store"(%desc, %block, %i, %i) <{{reduce_kind = {number} : i32}}> : (!tt.tensordesc<8x8xf32>, tensor<8x8xf32>, i32, i32) -> ()'
    assert printed(kernel(generic), TLX) == [
        named(f"{op} %desc[%i, %i], %block : !tt.tensordesc<8x8xf32>, tensor<8x8xf32>")
    ]


def test_kept_form_does_not_depend_on_who_wrote_it():
    before = type_in("!tt.tensordesc<tensor<8x64xf16>>")
    assert before == TensorDescType.get((8, 64), f16)
    assert type_in('!tt.ptr<f16, "global">') == type_in("!tt.ptr<f16, 1>") == PtrType.get(f16)
