"""What one partition of a step sends another: made by the partitioner only.

A message is sent under a key to a partition; its values are on the host.  What sends does not wait.  The partitioner sees to it
that no value shares memory with a variable.
"""

from __future__ import annotations

from headrace.core.dtypes import ANY
from headrace.core.registry import op
from headrace.resources.calling.copies import to_host
from headrace.resources.stepping.step import current

send = op(
    "_SendMany(values: list(T); key: string, destination: string, times: int = 1) -> ()",
    T=ANY, stateful=True, opaque=True, transfers=True,
)  # fmt: skip


@send.kernel
def _(values, key, destination, times):
    message = to_host(values)
    for _ in range(times):
        current.step.post.send(destination, key, message)


recv = op(
    "_RecvMany(; keys: list(string), T: list(type), shapes: list(shape) = None) -> (values: list(T))",
    T=ANY, asynchronous=True, stateful=True,
)  # fmt: skip
recv.not_differentiable()
recv.shape(lambda keys, T, shapes: list(shapes))


@recv.begin
def _(keys, T, shapes, *, done, step):  # noqa: N803
    return step.post.recv(keys, done)
