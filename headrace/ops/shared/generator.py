"""The generator that each node of a stateful random op owns."""

from __future__ import annotations

import hashlib

import torch

from headrace.core import random_words


def mixed_seed(seed: int, seed2: int) -> int:
    """One 63-bit seed for a pair.  Mixed because torch's CPU generator looks at the low 32 bits only."""
    return int.from_bytes(hashlib.blake2b(f"{seed},{seed2}".encode(), digest_size=8).digest(), "little") >> 1


def make_generator(context):
    """The state rule of every stateful random op."""
    if context.device.type == "meta":
        return None  # nothing is drawn there
    generator = torch.Generator(context.device)
    seed, seed2 = context.attrs["seed"], context.attrs["seed2"]
    if seed or seed2:
        generator.manual_seed(mixed_seed(seed, seed2))
    else:
        generator.manual_seed(random_words.source.getrandbits(63))
    return generator
