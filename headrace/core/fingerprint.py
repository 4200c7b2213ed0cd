"""Fingerprints of ops: whether two processes mean the same by the name of an op.

That of an op covers its signature, its types and its traits, not its kernels: these may differ between machines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from headrace.core.registry import REGISTRY, OpDef


class OpFingerprint(NamedTuple):
    """What a process knows of an op: the fingerprint, and for people the signature and where it is declared."""

    digest: str
    signature: str
    location: str


def fingerprint(op_def: OpDef) -> OpFingerprint:
    """The fingerprint of one op."""
    return OpFingerprint(_digest([op_def]), str(op_def.signature), op_def.location)


@cache
def built_in_digest() -> str:
    """The fingerprint of all ops that Headrace itself declares: the same where the same version runs."""
    return _digest(sorted((one for one in REGISTRY if one.built_in), key=lambda one: one.name))


def _digest(op_defs: Iterable[OpDef]) -> str:
    digest = hashlib.sha256()
    for one in op_defs:
        allowed = sorted((name, [dtype.name for dtype in types]) for name, types in one.signature.allowed.items())
        minimums = sorted(one.signature.minimums.items())
        digest.update(f"{one.signature}\n{allowed}\n{minimums}\n{one.traits}\n".encode())
    return digest.hexdigest()[:32]
