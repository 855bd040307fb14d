"""Tensor descriptors in *im2col* mode.

Such a descriptor sees the input of a convolution as the matrix whose rows are pixels and whose
columns are channels. The block is that matrix's; coordinates are those of the whole tensor, and
offsets choose the pixel of the filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects.builtin import ContainerType, ShapedType
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.types import TensorDescType
from tilewright.dialects.ttg.struct import FieldsAttr
from tilewright.dialects.type_utils import AnyTensor
from tilewright.ir.constraints import instance_of


@dataclass(frozen=True)
class TensorDescIm2ColType(FieldsAttr, TypeAttribute, ShapedType, ContainerType[Attribute]):
    """A descriptor of the input of a convolution; `block` is its block as a plain descriptor."""

    name = "ttng.tensordesc_im2col"

    block: TensorDescType

    @classmethod
    def get(
        cls, shape: Sequence[int], element_type: Attribute, layout: Attribute | None = None
    ) -> TensorDescIm2ColType:
        """A descriptor with blocks of `shape`."""
        return cls(TensorDescType.get(shape, element_type, layout))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a block."""
        return self.block.shape

    @property
    def encoding(self) -> Attribute | None:
        """The layout of a block in shared memory, once there is one."""
        return self.block.encoding

    @property
    def block_type(self) -> AnyTensor:
        """A block as a tensor."""
        return self.block.block_type

    @override
    def get_num_dims(self) -> int:
        return len(self.shape)

    @override
    def get_shape(self) -> tuple[int, ...]:
        return self.shape

    @override
    def get_element_type(self) -> Attribute:
        return self.block.element_type

    @override
    def verify(self) -> None:
        if len(self.shape) != 2:
            raise VerifyException(
                f"TensorDescIm2ColType requires rank-2 shape, got rank {len(self.shape)}"
            )

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return cls.pack((TensorDescType.new(TensorDescType.parse_parameters(parser)),))

    @override
    def print_parameters(self, printer: Printer) -> None:
        self.block.print_parameters(printer)


ANY_DESC = instance_of("tensor descriptor type", TensorDescType, TensorDescIm2ColType)
"""The constraint of copies that work in both modes."""
