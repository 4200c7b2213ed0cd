"""What tests of stages share: runs of chains with threads of their own, and cutting a sequence at every position."""

from contextlib import contextmanager, suppress

import numpy as np
import torch

from headrace.core.errors import OpError
from headrace.resources.data.saved import decode, encode
from headrace.resources.data.stage import Run
from headrace.runtime.host.pool import Pool


@contextmanager
def running(stage, cores=4):
    pool = Pool("test-data-", most=2)
    run = Run(stage, pool.submit, cores)
    try:
        yield run
    finally:
        run.close()
        pool.close()


def plain(element):
    """An element as lists and numbers."""
    return tuple(
        value.tolist() if isinstance(value, (torch.Tensor, np.ndarray, np.generic)) else rest(value)
        for value in element
    )


def rest(stage):
    with running(stage) as run:
        return drained(run)


def drained(run, limit=60):
    """What the run still gives: elements, and the names of errors."""
    given = []
    while len(given) < limit:
        try:
            element = run.cursor.next()
        except OpError as e:
            given.append(type(e).__name__)
            continue
        if element is None:
            break
        given.append(plain(element))
    return given


def elements(stage, limit=60):
    with running(stage) as run:
        return drained(run, limit)


def check_cuts(make, limit=60):
    """Saved at every position and restored into a new chain, the rest is what it would have been."""
    whole = elements(make(), limit)
    for position in range(len(whole) + 1):
        with running(make()) as run:
            for _ in range(position):
                with suppress(OpError):
                    run.cursor.next()
            data = encode(run.save())
            assert drained(run, limit - position) == whole[position:], f"saving at {position} disturbs"
        with running(make()) as run:
            run.restore(decode(data))
            assert drained(run, limit - position) == whole[position:], f"resumed at {position}"
    return whole
