"""``tf.test.Benchmark``: times ops and reports in TF1's form."""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np

from headrace.client.session import Session
from headrace.core.config import ConfigProto
from headrace.graph import context

_log = logging.getLogger("headrace")


def benchmark_config() -> ConfigProto:
    """The session configuration benchmarks run under: nothing folded away between two equal ops.

    Returns:
      A `tf.ConfigProto`.

    >>> config = tf.test.benchmark_config()
    """
    return ConfigProto()


class Benchmark:
    """Subclass it, give it methods called ``benchmark*``, and call ``run_op_benchmark`` in them.

    >>> class Addition(tf.test.Benchmark):
    ...     def benchmark_addition(self):
    ...         with tf.Session() as sess:
    ...             self.run_op_benchmark(sess, tf.add(1.0, 2.0), min_iters=100)
    """

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether the class has no methods called ``benchmark*``."""
        return not any(name.startswith("benchmark") for name in dir(cls))

    def report_benchmark(
        self, iters: int | None = None, cpu_time: float | None = None, wall_time: float | None = None,
        throughput: float | None = None, extras: dict[str, Any] | None = None, name: str | None = None,
        metrics: Any = None,
    ) -> None:  # fmt: skip
        """Logs one line; subclasses may send it elsewhere."""
        numbers = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput,
                 "extras": extras, "metrics": metrics}  # fmt: skip
        label = name or type(self).__name__
        _log.info("Benchmark %s: %s", label, ", ".join(f"{k}={v}" for k, v in numbers.items() if v is not None))

    def run_op_benchmark(
        self, sess: Any, op_or_tensor: Any, feed_dict: Any = None, burn_iters: int = 2, min_iters: int = 10,
        store_trace: bool = False, store_memory_usage: bool = True, name: str | None = None,
        extras: dict[str, Any] | None = None, mbs: float = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """Runs the op ``burn_iters`` + ``min_iters`` times; reports and returns the median time of a run."""
        operation = getattr(op_or_tensor, "op", op_or_tensor)
        for _ in range(burn_iters):
            sess.run(operation, feed_dict=feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(operation, feed_dict=feed_dict)
            times.append(time.perf_counter() - start)
        median = float(np.median(times)) if times else -1.0
        statistics = dict(extras or {})
        statistics["wall_time_mean"] = float(np.mean(times)) if times else -1.0
        statistics["wall_time_stdev"] = float(np.std(times)) if times else -1.0
        throughput = mbs / median if mbs and median > 0 else 0.0
        self.report_benchmark(iters=min_iters, wall_time=median, throughput=throughput, extras=statistics, name=name)
        return {"iters": min_iters, "wall_time": median, "throughput": throughput, "extras": statistics, "name": name}

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in the default session."""
        session = context.get_default_session()
        if session is not None:
            return session.run(tensors)
        with Session() as own:
            return own.run(tensors)
