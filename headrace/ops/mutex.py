"""Mutual exclusion: a mutex, taking it, giving it back."""

from __future__ import annotations

from headrace.core.registry import op
from headrace.resources.state.mutex import Mutex

mutex = op(
    'MutexV2(; container: string = "", shared_name: string = "") -> (resource: resource[0])', handle=True, stateful=True
)


@mutex.state
def _(context):
    name = context.attrs["shared_name"] or context.name
    return context.resource(Mutex, lambda: Mutex(name, str(context.source)), by_node_name=True)


lock = op("MutexLock(mutex: resource) -> (mutex_lock: variant[0])", stateful=True, host=True, asynchronous=True)
lock.not_differentiable()


@lock.begin
def _(mutex, *, done, step):
    return mutex.acquire(step, done)  # by the step, not the thread: it may be taken and given back on different ones


unlock = op("ConsumeMutexLock(mutex_lock: variant) -> ()", stateful=True, host=True)
unlock.kernel(lambda mutex_lock: mutex_lock.release())
