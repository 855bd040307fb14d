"""Storage aliasing: specs, buffers of a spec, trees of groups; in kernels and outside of them."""

import pytest

from tests.language.tlx.ours import check, emitted, text_of
from tilewright import tl, tlx
from tilewright.ir.diagnostics import CompileError

BUFFERS = """
s = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
a = tlx.local_alloc((64, 64), tl.float32, 2, tlx.storage_kind.smem, reuse=s)
b = tlx.local_alloc((64, 64), tl.float16, tl.constexpr(4), reuse=s)
"""


def test_tree() -> None:
    body = BUFFERS + (
        "s.set_buffer_overlap(tlx.reuse_group(a, tlx.reuse_group(b, group_size=2), "
        "group_type=tlx.reuse_group_type.distinct))"
    )
    check(
        """
        %s = tlx.storage_alias_spec storage = smem : !tlx.storage_alias_spec<smem>
        %a = tlx.storage_alias_local_alloc %s : !tlx.storage_alias_spec<smem> -> M<2x64x64xf32, nv128, smem>
        %b = tlx.storage_alias_local_alloc %s : !tlx.storage_alias_spec<smem> -> M<4x64x64xf16, nv128, smem>
        %g = tlx.reuse_group(%b) group_kind = shared, group_size = 2 : (M<4x64x64xf16, nv128, smem>) -> !tlx.reuse_group<shared>
        %h = tlx.reuse_group(%a, %g) group_kind = distinct : (M<2x64x64xf32, nv128, smem>, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>
        tlx.set_buffer_overlap(%s, %h) : (!tlx.storage_alias_spec<smem>, !tlx.reuse_group<distinct>) -> ()
        """,
        emitted(body),
    )


def test_sized_spec_of_tensor_memory() -> None:
    body = (
        "s = tlx.storage_alias_spec(tlx.storage_kind.tmem, tl.constexpr(65536))\n"
        "tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem, s)"
    )
    check(
        """
        %s = tlx.storage_alias_spec storage = tmem, size = 65536 : !tlx.storage_alias_spec<tmem, 65536>
        %a = tlx.storage_alias_local_alloc %s : !tlx.storage_alias_spec<tmem, 65536> -> M<1x128x128xf32, tm128x128, tmem>
        """,
        emitted(body, target=("cuda", 100)),
    )


def test_a_spec_goes_through_functions_and_loops() -> None:
    text = text_of("""
        @jit
        def buffers(s):
            return tlx.local_alloc((64, 64), tl.float16, 2, reuse=s)

        @jit
        def kernel(n):
            s = tlx.storage_alias_spec()
            a = buffers(s)
            for i in range(0, n):
                tlx.local_store(a[i], tl.zeros((64, 64), tl.float16))
    """, {"n": "i32"})  # fmt: skip
    assert text.count("tlx.storage_alias_local_alloc") == 1


def test_a_spec_goes_into_a_function_of_its_own() -> None:
    text = text_of("""
        @jit(noinline=True)
        def fill(s):
            a = tlx.local_alloc((64, 64), tl.float16, 2, reuse=s)
            tlx.local_store(a[0], tl.zeros((64, 64), tl.float16))

        @jit
        def kernel():
            fill(tlx.storage_alias_spec(buffer_size_bytes=32768))
    """, {})  # fmt: skip
    assert "__storage_alias_spec_smem_32768(" in text
    assert ": (!tlx.storage_alias_spec<smem, 32768>) -> ()" in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tlx.storage_alias_spec('smem')", "storage must be a tlx.storage_kind, got <class 'str'>"),
        (
            "tlx.storage_alias_spec(tlx.storage_kind.smemCluster)",
            "smemCluster storage is not supported for storage_alias_spec",
        ),
        (
            "tlx.storage_alias_spec(buffer_size_bytes=0)",
            "buffer_size_bytes must be positive, got 0",
        ),
        (
            "tlx.storage_alias_spec(buffer_size_bytes=n)",
            "buffer_size_bytes must be a compile-time constant",
        ),
        ("s.set_buffer_overlap(a)", "overlap_def must be a reuse_group, got buffered_tensor"),
        (
            "tlx.local_alloc((64, 64), tl.float16, 1, tlx.storage_kind.tmem, reuse=a)",
            "reuse tensor has different storage",
        ),
        (
            "tlx.local_alloc((64, 64), tl.float16, 1, tlx.storage_kind.tmem, reuse=s)",
            "storage_alias_spec storage (smem) doesn't match local_alloc storage (tmem)",
        ),
        (
            "tlx.local_alloc((64, 64), tl.float16, 1, reuse=3)",
            "reuse must be a buffered_tensor or storage_alias_spec, got <class 'int'>",
        ),
    ],
)
def test_mistakes(line: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        emitted(BUFFERS + line, target=("cuda", 100))
    assert f": {message}\n" in str(caught.value)


def _buffer() -> tlx.buffered_tensor:
    layout = tlx.swizzled_shared_layout_encoding.make_default(rank=2)
    return tlx.buffered_tensor(None, tl.float32, [64, 64], 2, tlx.storage_kind.smem, layout)


def test_groups_outside_of_kernels() -> None:
    first, second = _buffer(), _buffer()
    inner = tlx.reuse_group(second, group_size=tl.constexpr(2))
    outer = tlx.reuse_group(first, inner, group_type=tlx.reuse_group_type.distinct)
    assert outer.args == (first, inner)
    assert (outer.group_type, outer.group_size) == (tlx.reuse_group_type.distinct, 1)
    assert (inner.group_type, inner.group_size) == (tlx.reuse_group_type.shared, 2)
    assert "group_size=2" in repr(inner)
    assert "group_size" not in repr(tlx.reuse_group(first))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((), {}, ValueError, "reuse_group requires at least one element"),
        (
            (_buffer(),),
            {"group_size": 0},
            ValueError,
            "group_size must be a positive integer, got 0",
        ),
        (
            ("x",),
            {},
            TypeError,
            "reuse_group elements must be buffered_tensor or reuse_group, got str",
        ),
    ],
)
def test_bad_groups(
    arguments: tuple[object, ...],
    options: dict[str, int],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error) as caught:
        tlx.reuse_group(*arguments, **options)
    assert str(caught.value) == message


def test_types_of_specs() -> None:
    plain = tlx.storage_alias_spec_type(tlx.storage_kind.smem)
    sized = tlx.storage_alias_spec_type(tlx.storage_kind.smem, 4096)
    assert plain != sized
    assert sized == tlx.storage_alias_spec_type(tlx.storage_kind.smem, 4096)
    assert (plain.mangle(), sized.mangle()) == (
        "storage_alias_spec_smem",
        "storage_alias_spec_smem_4096",
    )
    assert ("size" in repr(plain), "size" in repr(sized)) == (False, True)
    assert tlx.reuse_group_ir_type(tlx.reuse_group_type.shared).mangle() == "reuse_group_shared"


def test_a_spec_does_not_change() -> None:
    spec = tlx.storage_alias_spec_type_class(None, tlx.storage_kind.tmem, 64)
    for name in ("handle", "storage", "buffer_size_bytes"):
        with pytest.raises(AttributeError):
            setattr(spec, name, None)
    assert repr(spec) == "storage_alias_spec(tmem, size=64)"
    with pytest.raises(TypeError):
        spec[0]  # type: ignore[index]
