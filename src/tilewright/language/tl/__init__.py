"""`tl`: the language of Triton kernels.

Names, signatures, types and the ops they emit are those of Triton 3.9's ``triton.language``. Each
is an ordinary Python function that emits IR while a kernel is traced; what Python's statements and
operators mean is defined by `vocabulary` and `tensor`.

    from tilewright import tl
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._exports import load_on_use

if TYPE_CHECKING:
    from builtins import slice as slice
    from builtins import tuple as tuple

    from tilewright.language.tl import core as core
    from tilewright.language.tl import extra as extra
    from tilewright.language.tl import math as math
    from tilewright.language.tl import target_info as target_info
    from tilewright.language.tl.aggregates import aggregate_replace as aggregate_replace
    from tilewright.language.tl.arithmetic import abs as abs
    from tilewright.language.tl.arithmetic import add as add
    from tilewright.language.tl.arithmetic import fma as fma
    from tilewright.language.tl.arithmetic import mul as mul
    from tilewright.language.tl.arithmetic import sub as sub
    from tilewright.language.tl.arithmetic import umulhi as umulhi
    from tilewright.language.tl.atomics import atomic_add as atomic_add
    from tilewright.language.tl.atomics import atomic_and as atomic_and
    from tilewright.language.tl.atomics import atomic_cas as atomic_cas
    from tilewright.language.tl.atomics import atomic_load as atomic_load
    from tilewright.language.tl.atomics import atomic_max as atomic_max
    from tilewright.language.tl.atomics import atomic_min as atomic_min
    from tilewright.language.tl.atomics import atomic_or as atomic_or
    from tilewright.language.tl.atomics import atomic_poll as atomic_poll
    from tilewright.language.tl.atomics import atomic_store as atomic_store
    from tilewright.language.tl.atomics import atomic_xchg as atomic_xchg
    from tilewright.language.tl.atomics import atomic_xor as atomic_xor
    from tilewright.language.tl.block_pointers import advance as advance
    from tilewright.language.tl.block_pointers import block_pointer as block_pointer
    from tilewright.language.tl.block_pointers import make_block_ptr as make_block_ptr
    from tilewright.language.tl.cast import cast as cast
    from tilewright.language.tl.comparison import PropagateNan as PropagateNan
    from tilewright.language.tl.comparison import clamp as clamp
    from tilewright.language.tl.comparison import maximum as maximum
    from tilewright.language.tl.comparison import minimum as minimum
    from tilewright.language.tl.comparison import where as where
    from tilewright.language.tl.constants import to_tensor as to_tensor
    from tilewright.language.tl.constexpr import constexpr as constexpr
    from tilewright.language.tl.constexpr import constexpr_type as constexpr_type
    from tilewright.language.tl.create import arange as arange
    from tilewright.language.tl.create import full as full
    from tilewright.language.tl.create import zeros as zeros
    from tilewright.language.tl.create import zeros_like as zeros_like
    from tilewright.language.tl.debug import debug_barrier as debug_barrier
    from tilewright.language.tl.debug import device_assert as device_assert
    from tilewright.language.tl.debug import device_print as device_print
    from tilewright.language.tl.debug import expect_zero as expect_zero
    from tilewright.language.tl.debug import static_assert as static_assert
    from tilewright.language.tl.debug import static_print as static_print
    from tilewright.language.tl.descriptors import load_tensor_descriptor as load_tensor_descriptor
    from tilewright.language.tl.descriptors import make_tensor_descriptor as make_tensor_descriptor
    from tilewright.language.tl.descriptors import (
        store_tensor_descriptor as store_tensor_descriptor,
    )
    from tilewright.language.tl.descriptors import tensor_descriptor as tensor_descriptor
    from tilewright.language.tl.descriptors import tensor_descriptor_type as tensor_descriptor_type
    from tilewright.language.tl.dot import dot as dot
    from tilewright.language.tl.dot_scaled import dot_scaled as dot_scaled
    from tilewright.language.tl.dtypes import TRITON_MAX_TENSOR_NUMEL as TRITON_MAX_TENSOR_NUMEL
    from tilewright.language.tl.dtypes import bfloat16 as bfloat16
    from tilewright.language.tl.dtypes import block_type as block_type
    from tilewright.language.tl.dtypes import const as const
    from tilewright.language.tl.dtypes import dtype as dtype
    from tilewright.language.tl.dtypes import float8e4b8 as float8e4b8
    from tilewright.language.tl.dtypes import float8e4b15 as float8e4b15
    from tilewright.language.tl.dtypes import float8e4nv as float8e4nv
    from tilewright.language.tl.dtypes import float8e5 as float8e5
    from tilewright.language.tl.dtypes import float8e5b16 as float8e5b16
    from tilewright.language.tl.dtypes import float16 as float16
    from tilewright.language.tl.dtypes import float32 as float32
    from tilewright.language.tl.dtypes import float64 as float64
    from tilewright.language.tl.dtypes import int1 as int1
    from tilewright.language.tl.dtypes import int8 as int8
    from tilewright.language.tl.dtypes import int16 as int16
    from tilewright.language.tl.dtypes import int32 as int32
    from tilewright.language.tl.dtypes import int64 as int64
    from tilewright.language.tl.dtypes import pi32_t as pi32_t
    from tilewright.language.tl.dtypes import pointer_type as pointer_type
    from tilewright.language.tl.dtypes import tuple_type as tuple_type
    from tilewright.language.tl.dtypes import uint8 as uint8
    from tilewright.language.tl.dtypes import uint16 as uint16
    from tilewright.language.tl.dtypes import uint32 as uint32
    from tilewright.language.tl.dtypes import uint64 as uint64
    from tilewright.language.tl.dtypes import void as void
    from tilewright.language.tl.hints import assume as assume
    from tilewright.language.tl.hints import max_constancy as max_constancy
    from tilewright.language.tl.hints import max_contiguous as max_contiguous
    from tilewright.language.tl.hints import multiple_of as multiple_of
    from tilewright.language.tl.inline_asm import inline_asm_elementwise as inline_asm_elementwise
    from tilewright.language.tl.inline_asm import map_elementwise as map_elementwise
    from tilewright.language.tl.math import ceil as ceil
    from tilewright.language.tl.math import cos as cos
    from tilewright.language.tl.math import div_rn as div_rn
    from tilewright.language.tl.math import erf as erf
    from tilewright.language.tl.math import exp as exp
    from tilewright.language.tl.math import exp2 as exp2
    from tilewright.language.tl.math import fdiv as fdiv
    from tilewright.language.tl.math import floor as floor
    from tilewright.language.tl.math import log as log
    from tilewright.language.tl.math import log2 as log2
    from tilewright.language.tl.math import rsqrt as rsqrt
    from tilewright.language.tl.math import sin as sin
    from tilewright.language.tl.math import sqrt as sqrt
    from tilewright.language.tl.math import sqrt_rn as sqrt_rn
    from tilewright.language.tl.memory import load as load
    from tilewright.language.tl.memory import store as store
    from tilewright.language.tl.operations import tensor as tensor
    from tilewright.language.tl.program import num_programs as num_programs
    from tilewright.language.tl.program import program_id as program_id
    from tilewright.language.tl.random import pair_uniform_to_normal as pair_uniform_to_normal
    from tilewright.language.tl.random import philox as philox
    from tilewright.language.tl.random import philox_impl as philox_impl
    from tilewright.language.tl.random import rand as rand
    from tilewright.language.tl.random import rand4x as rand4x
    from tilewright.language.tl.random import randint as randint
    from tilewright.language.tl.random import randint4x as randint4x
    from tilewright.language.tl.random import randn as randn
    from tilewright.language.tl.random import randn4x as randn4x
    from tilewright.language.tl.random import uint_to_uniform_float as uint_to_uniform_float
    from tilewright.language.tl.ranges import condition as condition
    from tilewright.language.tl.ranges import range as range
    from tilewright.language.tl.ranges import static_range as static_range
    from tilewright.language.tl.reductions import argmax as argmax
    from tilewright.language.tl.reductions import argmin as argmin
    from tilewright.language.tl.reductions import associative_scan as associative_scan
    from tilewright.language.tl.reductions import cumprod as cumprod
    from tilewright.language.tl.reductions import cumsum as cumsum
    from tilewright.language.tl.reductions import max as max
    from tilewright.language.tl.reductions import min as min
    from tilewright.language.tl.reductions import reduce as reduce
    from tilewright.language.tl.reductions import reduce_or as reduce_or
    from tilewright.language.tl.reductions import sum as sum
    from tilewright.language.tl.reductions import xor_sum as xor_sum
    from tilewright.language.tl.shape import broadcast as broadcast
    from tilewright.language.tl.shape import broadcast_to as broadcast_to
    from tilewright.language.tl.shape import cat as cat
    from tilewright.language.tl.shape import expand_dims as expand_dims
    from tilewright.language.tl.shape import interleave as interleave
    from tilewright.language.tl.shape import join as join
    from tilewright.language.tl.shape import permute as permute
    from tilewright.language.tl.shape import ravel as ravel
    from tilewright.language.tl.shape import reshape as reshape
    from tilewright.language.tl.shape import split as split
    from tilewright.language.tl.shape import squeeze as squeeze
    from tilewright.language.tl.shape import trans as trans
    from tilewright.language.tl.shape import unsqueeze as unsqueeze
    from tilewright.language.tl.shape import view as view
    from tilewright.language.tl.sorting import bitonic_merge as bitonic_merge
    from tilewright.language.tl.sorting import flip as flip
    from tilewright.language.tl.sorting import gather as gather
    from tilewright.language.tl.sorting import histogram as histogram
    from tilewright.language.tl.sorting import sort as sort
    from tilewright.language.tl.sorting import topk as topk
    from tilewright.language.tl.standard import cdiv as cdiv
    from tilewright.language.tl.standard import sigmoid as sigmoid
    from tilewright.language.tl.standard import softmax as softmax
    from tilewright.language.tl.standard import swizzle2d as swizzle2d
else:
    load_on_use(__name__)
