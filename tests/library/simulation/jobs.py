"""Small jobs for the tests: a worker that computes, servers that send values and take gradients."""

from headrace.library.simulation.cluster import Tolls
from headrace.library.simulation.job import (
    RELEASE,
    UPDATE,
    WORKER,
    Job,
    Message,
    Partition,
    Piece,
    Rules,
    Steps,
    Strand,
)

FREE = Tolls(
    message=0.0, partition=0.0, step=0.0, wake=0.0, copy=1e30, cipher=1e30, cold=1.0, resume=0.0, value=0.0, block=0.0
)  # fmt: skip


def plain(
    servers: int = 1, computes: float = 0.01, serves: float = 1e-4, size: float = 0.0, interpreter: float = 0.0
) -> Job:
    """Values come from each server, the worker computes, each server takes a gradient: nobody waits for another."""
    worker = (
        Strand(takes=tuple(range(servers))),
        Strand((Piece(interpreter, computes, sends=tuple(range(servers, 2 * servers))),), after=(0,)),
    )
    partitions = [Partition(WORKER, worker)]
    for k in range(servers):
        takes = Strand(takes=(servers + k,))
        partitions.append(Partition(k, (Strand((Piece(sends=(k,)),)), takes, Strand((Piece(serves),), after=(1,)))))
    messages = [Message(1 + k, 0, size) for k in range(servers)] + [Message(0, 1 + k, size) for k in range(servers)]
    return Job(Steps(tuple(partitions), tuple(messages)), servers)


def together(rules: Rules, computes: float = 0.01) -> Job:
    """A worker computes and hands in a gradient at one server; then it waits until it may go on."""
    step = Steps(
        (
            Partition(WORKER, (Strand((Piece(kernels=computes, sends=(0,)),)),)),
            Partition(0, (Strand(takes=(0,)), Strand(waits=RELEASE, after=(0,)))),
        ),
        (Message(0, 1, 0.0),),
    )
    update = Steps((Partition(0, (Strand(waits=UPDATE), Strand((Piece(gathered=1e-4, tells=True),), after=(0,)))),))
    return Job(step, 1, rules, update if rules.gathers else None)
