"""What TF1 tells people who compile ops in C++ (``tf.sysconfig``).

Headrace has no C++ interface: ops are declared in Python (docs/add_an_op.md), so these say so.
"""

from __future__ import annotations

from typing import NoReturn

from headrace.core import errors
from headrace.library.system.version import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from headrace.library.system.version import MONOLITHIC_BUILD as MONOLITHIC_BUILD

_REASON = (
    "Headrace has no C++ headers or library: an op is a Python declaration with a PyTorch kernel "
    "(headrace.extend.op; see docs/add_an_op.md)"
)


def _refuse() -> NoReturn:
    raise errors.UnimplementedError(None, None, _REASON)


def get_include() -> str:
    """UnimplementedError: there are no C++ headers.

    Returns:
      Nothing: it always raises.

    >>> tf.sysconfig.get_include()
    Traceback (most recent call last):
    UnimplementedError: ...
    """
    _refuse()


def get_lib() -> str:
    """UnimplementedError: there is no C++ library.

    Returns:
      Nothing: it always raises.

    >>> tf.sysconfig.get_lib()
    Traceback (most recent call last):
    UnimplementedError: ...
    """
    _refuse()


def get_compile_flags() -> list[str]:
    """UnimplementedError: there are no C++ headers.

    Returns:
      Nothing: it always raises.

    >>> tf.sysconfig.get_compile_flags()
    Traceback (most recent call last):
    UnimplementedError: ...
    """
    _refuse()


def get_link_flags() -> list[str]:
    """UnimplementedError: there is no C++ library.

    Returns:
      Nothing: it always raises.

    >>> tf.sysconfig.get_link_flags()
    Traceback (most recent call last):
    UnimplementedError: ...
    """
    _refuse()
