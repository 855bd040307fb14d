"""Text of IR: parser, printer, literals, locations, aliases, names and assembly formats.

The only package that uses private parts of xDSL. Read IR with ``parse_source``, write it with
``print_module``; dialects use ``assembly.AsmOp`` and ``syntax``.
"""

from tilewright.ir.class_checks import check_by_inheritance, compare_by_identity
from tilewright.ir.text.accessors import read_accessors_directly
from tilewright.ir.text.construction import make_ops_directly
from tilewright.ir.text.flavour import DEFAULT, FLAVOURS, Flavour, flavour_named
from tilewright.ir.text.printer import print_module
from tilewright.ir.text.source import ParsedSource, parse_source

__all__ = [
    "DEFAULT",
    "FLAVOURS",
    "Flavour",
    "ParsedSource",
    "flavour_named",
    "parse_source",
    "print_module",
]

check_by_inheritance()
compare_by_identity()
read_accessors_directly()
make_ops_directly()
