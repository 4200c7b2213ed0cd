"""tf.data.experimental.service: datasets whose elements are computed by tasks of a job.

Nothing new travels: an iterator on each of the tasks, a session that takes its elements, and a source of Python elements here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final

import numpy as np

from headrace.client.session import Session
from headrace.core import dtypes
from headrace.core.config import ConfigProto
from headrace.core.errors import (
    AbortedError,
    DeadlineExceededError,
    InvalidArgumentError,
    OutOfRangeError,
    UnavailableError,
)
from headrace.core.source import at
from headrace.core.tensor_spec import TensorSpec
from headrace.graph import raw_ops
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.library.control.host import py_func
from headrace.library.data import nest
from headrace.library.data.dataset import AUTOTUNE, Dataset, made
from headrace.library.data.generate import starter
from headrace.library.data.iterator import Uncapturable, copy_by_value, make_one_shot_iterator

PARALLEL_EPOCHS: Final = "parallel_epochs"
DISTRIBUTED_EPOCH: Final = "distributed_epoch"
PATIENCE_S: Final = 60.0  # until a task that was lost is back

log: Final = logging.getLogger("headrace.cluster")


def distribute(
    processing_mode: str, service: str, job_name: str | None = None, *, job: str = "data"
) -> Callable[[Dataset], Dataset]:
    """For `Dataset.apply`: the dataset so far is computed by the tasks of ``job``, and its elements come from them in turn.

    ``service`` is the target of a server of their cluster, as of ``tf.Session``.  With ``"parallel_epochs"`` each task goes
    through the whole dataset, with ``"distributed_epoch"`` through every n-th element of its sources: of n tasks, each reads
    every n-th file if the dataset begins with their names.  Who names the same ``job_name`` shares the elements: each goes to one
    of them.  Without one, all get all of them.

    Like a one-shot iterator, the tasks know constants only: the dataset has no variables, tables, placeholders or generators.

    Args:
      processing_mode: "parallel_epochs" or "distributed_epoch".
      service: The target of a server of the cluster.
      job_name: The name under which several datasets share the elements; None to get all of them.
      job: The job whose tasks compute the elements.

    Returns:
      A function for `Dataset.apply`.

    Example: ``dataset.apply(tf.data.experimental.service.distribute("parallel_epochs", server.target))``
    """
    if processing_mode not in (PARALLEL_EPOCHS, DISTRIBUTED_EPOCH):
        raise ValueError(
            f"processing_mode is {PARALLEL_EPOCHS!r} or {DISTRIBUTED_EPOCH!r}, got {processing_mode!r} {at()}"
        )
    for name, text in (("service", service), ("job", job)):
        if not isinstance(text, str) or not text:
            raise ValueError(f"{name} is a text that is not empty, got {text!r} {at()}")

    def apply(dataset: Dataset) -> Dataset:
        elements = _Elements(dataset, processing_mode == DISTRIBUTED_EPOCH, service, job, job_name)
        tasks = py_func(elements.tasks, [], dtypes.int64, stateful=False)
        tasks.set_shape([])

        def of_task(task: Tensor) -> Dataset:
            taken = made("_IterableDataset", dataset.element_spec, [], [task, tasks], func=elements)
            return taken.prefetch(AUTOTUNE)

        return Dataset.range(tasks).interleave(of_task, cycle_length=tasks)

    return apply


class _Elements:
    """What the tasks compute, as Python generators."""

    def __init__(self, dataset: Dataset, split: bool, service: str, job: str, job_name: str | None) -> None:
        self._dataset, self._split, self._service, self._job, self._name = dataset, split, service, job, job_name
        for one in nest.flatten(dataset.element_spec):
            if not isinstance(one, TensorSpec):
                raise TypeError(f"data tasks compute elements of tensors, got a component {one!r} {at()}")
        try:
            self._graph(0, 1, 0)
        except Uncapturable as e:
            raise ValueError(f"a dataset of data tasks can only use constants. {e} {at()}") from None
        self._start = starter(self._elements, dataset.element_spec, "a data task")
        shared = (
            f"a position in the elements that job_name={job_name!r} shares cannot be saved: others take some of them"
        )
        self.unsaved = "" if job_name is None else shared

    def tasks(self) -> np.int64:
        """How many tasks there are.  Waits for them."""
        config = ConfigProto(device_filters=[f"/job:{self._job}"])
        try:
            with closing(Session(self._service, Graph(), config)) as session:
                return np.int64(len({one.name.split("/device")[0] for one in session.list_devices()}))
        except InvalidArgumentError as e:
            raise ValueError(f"the cluster of {self._service} has no task of job {self._job!r}") from e

    def __call__(self, task: Any, tasks: Any) -> Iterator[tuple[Any, ...]]:
        return self._start(int(task), int(tasks), 0)

    def go_to(self, task: Any, tasks: Any, given: int) -> Iterator[tuple[Any, ...]]:
        """From an element on: the task computes those before it, and sends none."""
        return self._start(int(task), int(tasks), given)

    def _elements(self, task: int, tasks: int, given: int) -> Iterator[Any]:
        """A task that is lost is waited for, and goes on at its position; one whose elements are shared has lost it."""
        while True:
            self._wait_for(task)
            try:
                for element in self._taken(task, tasks, given):
                    given += 1
                    yield element
                return
            except (UnavailableError, AbortedError) as e:
                if self._name is not None:
                    raise
                log.warning("%s; going on at element %d of it when it is back", e.message.split("\n")[0], given)

    def _taken(self, task: int, tasks: int, given: int) -> Iterator[Any]:
        graph, element = self._graph(task, tasks, given)
        with closing(Session(self._service, graph, self._config(task))) as session:
            while True:
                try:
                    value = session.run(element)
                except OutOfRangeError:
                    return
                yield value

    def _config(self, task: int, seconds: float = 0.0) -> ConfigProto:
        return ConfigProto(
            device_filters=[f"/job:{self._job}/task:{task}"], operation_timeout_in_ms=int(1000 * seconds)
        )

    def _wait_for(self, task: int) -> None:
        try:
            Session(self._service, Graph(), self._config(task, PATIENCE_S)).close()
        except DeadlineExceededError as e:
            why = f"task {task} of job {self._job!r} is lost, and was not back within {PATIENCE_S:g} s"
            raise UnavailableError(None, None, why) from e

    def _graph(self, task: int, tasks: int, given: int) -> tuple[Graph, Any]:
        """What takes an element, on a task."""
        graph = Graph()
        with graph.as_default(), graph.device(f"/job:{self._job}/task:{task}"):

            def part(tensor: Tensor) -> Tensor:
                op = tensor.op
                if tensor.dtype != dtypes.variant or any(t.dtype == dtypes.variant for t in op.inputs):
                    return tensor
                types = op.attrs.get("output_types") or op.attrs["Toutput_types"]
                shard: Tensor = raw_ops.ShardDataset(
                    tensor, tasks, task, output_types=types, output_shapes=op.attrs["output_shapes"]
                )
                return shard

            variant = copy_by_value(
                self._dataset._variant_tensor, graph, part if self._split else lambda tensor: tensor
            )
            dataset = Dataset._of(variant, self._dataset.element_spec)
            if given:
                dataset = dataset.skip(given)
            name = "" if self._name is None else f"{self._name} (task {task} of {tasks})"
            return graph, make_one_shot_iterator(dataset.prefetch(AUTOTUNE), name).get_next()
