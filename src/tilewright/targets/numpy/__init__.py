"""IR as readable NumPy code, run batch by batch with every access checked.

`compile_module` makes a `NumpyKernel` from pointer-level IR; `NumpyKernel.launch` runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._exports import load_on_use

if TYPE_CHECKING:
    from tilewright.targets.numpy.api import Argument as Argument
    from tilewright.targets.numpy.api import Buffer as Buffer
    from tilewright.targets.numpy.api import Descriptor as Descriptor
    from tilewright.targets.numpy.api import NumpyFault as NumpyFault
    from tilewright.targets.numpy.api import RunOptions as RunOptions
    from tilewright.targets.numpy.api import RunReport as RunReport
    from tilewright.targets.numpy.errors import Unsupported as Unsupported
    from tilewright.targets.numpy.kernel import NumpyKernel as NumpyKernel
    from tilewright.targets.numpy.kernel import compile_module as compile_module
else:
    load_on_use(__name__)
