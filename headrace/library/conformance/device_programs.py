"""The checks of devicecheck: what every device must do, one small program each."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from headrace.autodiff.gradients import gradients
from headrace.core import dtypes
from headrace.core.errors import FailedPreconditionError, InvalidArgumentError
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.conformance.bench import Bench
from headrace.library.control.control_flow import cond
from headrace.library.control.while_loop import while_loop
from headrace.library.scope import control_dependencies, device
from headrace.library.state.variable import Variable
from headrace.library.state.variables import global_variables_initializer
from headrace.library.train.saver.saver import Saver
from headrace.runtime.host.device import LOCAL_TASK

Check = Callable[[Bench], None]
CHECKS: dict[str, Check] = {}
CPU = "/device:CPU:0"
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3) / 5
F, I = dtypes.float32, dtypes.int32  # noqa: E741


def _check(check: Check) -> Check:
    CHECKS[check.__name__.strip("_").replace("_", " ")] = check
    return check


def _placeholder(name: str = "x", shape: Any = (None, 3), dtype: Any = F) -> Tensor:
    return raw_ops.Placeholder(dtype=dtype, shape=shape, name=name)


def _expect(error: type[Exception], run: Callable[[], Any], *words: str) -> None:
    """Fails unless the call raises the error with these words in its message."""
    try:
        run()
    except error as e:
        missing = [w for w in words if w not in str(e)]
        if missing:
            raise AssertionError(f"the {error.__name__} does not say {missing}: {e}") from None
        return
    raise AssertionError(f"no {error.__name__} was raised")


# ---- names and places


@_check
def _names(bench: Bench) -> None:
    with bench.session() as session:
        listed = [d for d in session.list_devices() if d.device_type == bench.device_type]
        stats = session.device_stats()
    expected = [f"{LOCAL_TASK}/device:{bench.device_type}:{i}" for i in range(len(bench.devices))]
    assert [d.name for d in listed] == expected, f"list_devices has {[d.name for d in listed]} instead of {expected}"
    assert all(d.memory_limit_bytes >= 0 for d in listed)
    assert all(name in stats for name in expected), f"device_stats has {list(stats)}"


@_check
def _a_count_limits_the_type(bench: Bench) -> None:
    least = int(bench.device_type == "CPU")  # there is always one
    with bench.session(device_count={**bench.config.device_count, bench.device_type: least}) as session:
        number = sum(d.device_type == bench.device_type for d in session.list_devices())
    assert number == least, f"device_count={{{bench.device_type!r}: {least}}} leaves {number} devices"


@_check
def _placement_by_name(bench: Bench) -> None:
    full = bench.devices[0].name
    x = _placeholder()
    tensors = []
    names = (full, bench.name, f"/{bench.device_type.lower()}:0", f"/device:{bench.device_type}:*")
    for name, op in zip(names, (raw_ops.Tanh, raw_ops.Neg, raw_ops.Exp, raw_ops.Sigmoid), strict=True):
        with device(name):
            tensors.append(op(x))
    with bench.session() as session:
        places = bench.places(session, tensors, {x: ROWS})
    assert places == [full] * 4, f"the nodes are on {places} instead of {full}"


@_check
def _placement_of_others(bench: Bench) -> None:
    """Nodes pinned elsewhere stay there; colocated ones come along."""
    x = _placeholder()
    with device(bench.name):
        here = raw_ops.Tanh(x)
    with device(CPU):
        there = raw_ops.Neg(x)
    with x.graph.colocate_with(here.op):
        beside = raw_ops.Exp(x)
    with bench.session() as session:
        places = bench.places(session, [here, there, beside], {x: ROWS})
    expected = [bench.devices[0].name, f"{LOCAL_TASK}{CPU}", bench.devices[0].name]
    assert places == expected, f"the nodes are on {places} instead of {expected}"


@_check
def _a_device_that_is_not_there(bench: Bench) -> None:
    x = _placeholder()
    with device(f"/device:{bench.device_type}:{len(bench.devices)}"):
        y = raw_ops.Neg(x, name="misplaced")
    with bench.session() as session:
        _expect(InvalidArgumentError, lambda: session.run(y, {x: ROWS}), "misplaced", bench.device_type)
    with bench.session(allow_soft_placement=True) as session:
        np.testing.assert_array_equal(session.run(y, {x: ROWS}), -ROWS)


@_check
def _placement_of_a_second_device(bench: Bench) -> None:
    x = _placeholder()
    with device(bench.other):
        y = raw_ops.Tanh(x)
    with bench.session() as session:
        (place,) = bench.places(session, [y], {x: ROWS})
    assert place == bench.devices[1].name, f"the node is on {place} instead of {bench.devices[1].name}"


# ---- kernels


@_check
def _element_wise_kernels(bench: Bench) -> None:
    def build() -> list[Tensor]:
        x = _placeholder()
        return [raw_ops.Tanh(x), x * x + 1.0, raw_ops.Maximum(x, 0.5), raw_ops.Less(x, 0.5), raw_ops.Cast(x, DstT=I)]

    bench.agrees(build, {"x": ROWS})


@_check
def _products_and_reductions(bench: Bench) -> None:
    def build() -> list[Tensor]:
        x = _placeholder()
        product = raw_ops.MatMul(x, x, transpose_b=True)
        return [product, raw_ops.Sum(product, [0]), raw_ops.Mean(x, 1, keep_dims=True), raw_ops.ArgMax(x, 1)]

    bench.agrees(build, {"x": ROWS})


@_check
def _convolution(bench: Bench) -> None:
    def build() -> list[Tensor]:
        x = _placeholder(shape=(None, 6, 6, 2))
        kernel = raw_ops.Const(value=np.linspace(-1, 1, 36, dtype=np.float32).reshape(3, 3, 2, 2), dtype=F)
        y = raw_ops.Conv2D(x, kernel, strides=[1, 1, 1, 1], padding="SAME")
        return [y, raw_ops.MaxPool(y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")]

    bench.agrees(build, {"x": np.linspace(-1, 1, 144, dtype=np.float32).reshape(2, 6, 6, 2)})


@_check
def _lists_of_inputs_and_outputs(bench: Bench) -> None:
    def build() -> list[Tensor]:
        x = _placeholder()
        parts = raw_ops.Split(1, x, num_split=3)
        return [*parts, raw_ops.ConcatV2([x, x], 0), *raw_ops.TopKV2(x, 2), raw_ops.AddN([x, x, x])]

    bench.agrees(build, {"x": ROWS})


@_check
def _indexing(bench: Bench) -> None:
    def build() -> list[Tensor]:
        x, at = _placeholder(), _placeholder("at", (None,), I)
        return [raw_ops.GatherV2(x, at, 0), x[:, 1:], raw_ops.OneHot(at, 3, 1.0, 0.0), raw_ops.Transpose(x, [1, 0])]

    bench.agrees(build, {"x": ROWS, "at": np.array([1, 0, 1], np.int32)})


@_check
def _integers(bench: Bench) -> None:
    def build() -> list[Tensor]:
        x = _placeholder("x", (None,), I)
        return [x + 2, x * x, raw_ops.FloorDiv(x, 2), raw_ops.Cast(x, DstT=dtypes.int64), raw_ops.Equal(x, 3)]

    bench.agrees(build, {"x": np.arange(5, dtype=np.int32)})


@_check
def _shapes_that_depend_on_values(bench: Bench) -> None:
    bench.needs_values()

    def build() -> list[Tensor]:
        x = _placeholder()
        return [raw_ops.Where(raw_ops.Greater(x, 0.5)), *raw_ops.Unique(raw_ops.Reshape(x, [-1]))]

    bench.agrees(build, {"x": ROWS})


@_check
def _strings_stay_on_the_host(bench: Bench) -> None:
    text = _placeholder("text", (None,), dtypes.string)
    with device(bench.name):
        joined = raw_ops.StringJoin([text, text], separator="-")
    with bench.session() as session:
        assert session.run(joined, {text: [b"a", b"b"]}).tolist() == [b"a-a", b"b-b"]


@_check
def _gradients(bench: Bench) -> None:
    def build() -> list[Tensor]:
        x = _placeholder()
        y = raw_ops.Sum(raw_ops.Tanh(raw_ops.MatMul(x, x, transpose_b=True)), [0, 1])
        (gradient,) = gradients(y, x)
        return [y, gradient]

    bench.agrees(build, {"x": ROWS})


# ---- the host's memory


@_check
def _arguments_in_the_hosts_memory(bench: Bench) -> None:
    """Shapes and axes are computed on the host whatever the device."""

    def build() -> list[Tensor]:
        x, axis = _placeholder(), _placeholder("axis", (), I)
        rows = raw_ops.Shape(x)[0]
        return [
            raw_ops.Reshape(x, raw_ops.Pack([rows * 3])), raw_ops.Fill([rows, 2], 1.5), raw_ops.Sum(x, axis),
            raw_ops.Slice(x, [0, rows - 1], [1, 1]), raw_ops.Tile(x, [1, rows]), raw_ops.ExpandDims(x, axis),
        ]  # fmt: skip

    bench.agrees(build, {"x": ROWS, "axis": np.int32(1)})


@_check
def _shapes_are_on_the_host(bench: Bench) -> None:
    x = _placeholder()
    with device(bench.name):
        y = raw_ops.Tanh(raw_ops.MatMul(x, x, transpose_b=True))
        facts = [raw_ops.Shape(y), raw_ops.Size(y), raw_ops.Rank(y)]
    with bench.session() as session:
        shape, size, rank = session.run(facts, {x: ROWS})
    assert (shape.tolist(), size, rank) == ([2, 2], 4, 2)


# ---- variables


@_check
def _variables(bench: Bench) -> None:
    """First value, assignment, update, sparse update, read."""
    with device(bench.name):
        v = Variable(ROWS, name="v")
        assign = v.assign(ROWS * 2)
        with control_dependencies([assign]):
            add = v.assign_add(np.ones_like(ROWS))
        with control_dependencies([add]):
            scattered = raw_ops.ScatterAdd(v._ref(), [1], np.ones((1, 3), np.float32))
    with bench.session() as session:
        _expect(FailedPreconditionError, lambda: session.run(v.value().op), "v", "uninitialized")
        session.run(v.initializer)
        bench.same(bench.results(session, [v.value()])[0], ROWS, "the first value")
        session.run(scattered.op)
        bench.same(bench.results(session, [v.value()])[0], ROWS * 2 + 1 + np.array([[0], [1]], np.float32), "the value")
        variable_bytes = session.device_stats()[bench.devices[0].name].variable_bytes
    assert variable_bytes == ROWS.nbytes, (
        f"device_stats counts {variable_bytes} bytes of variables instead of {ROWS.nbytes}"
    )


@_check
def _a_value_read_before_a_write(bench: Bench) -> None:
    bench.needs_values()
    with device(bench.name):
        v = Variable(ROWS, name="v")
        before = raw_ops.Identity(v)
        with control_dependencies([before]):
            write = v.assign_add(np.ones_like(ROWS))
        with control_dependencies([write]):
            after = raw_ops.Identity(before)
    with bench.session() as session:
        session.run(v.initializer)
        bench.same(session.run(after), ROWS, "the value from before the write")


@_check
def _training(bench: Bench) -> None:
    def build() -> list[Tensor]:
        x = _placeholder()
        w = Variable(np.ones((3, 2), np.float32), name="w")
        loss = raw_ops.Sum(raw_ops.Square(raw_ops.MatMul(x, w.value())), [0, 1])
        (gradient,) = gradients(loss, w)
        return [raw_ops.ApplyGradientDescent(w._ref(), 0.1, gradient)]

    bench.agrees(build, {"x": ROWS})


# ---- feeds, fetches, copies


@_check
def _feeds_and_fetches(bench: Bench) -> None:
    values: list[Any] = [
        np.array([1.5, -2.0], np.float32), np.array([[1], [2]], np.int32), np.array(7, np.int64), np.array([True, False]),
        np.zeros((0, 3), np.float32),
    ]  # fmt: skip

    def build() -> list[Tensor]:
        fed = [_placeholder(f"x{i}", None, dtypes.as_dtype(v.dtype)) for i, v in enumerate(values)]
        return [raw_ops.Reshape(x, raw_ops.Shape(x)) for x in fed]

    bench.agrees(build, {f"x{i}": v for i, v in enumerate(values)})


@_check
def _a_tensor_on_the_device_can_be_fed(bench: Bench) -> None:
    with device(bench.name):
        x = raw_ops.Tanh(_placeholder())
        y = x * 2.0
    with bench.session() as session:
        bench.same(bench.results(session, [y], {x: ROWS})[0], ROWS * 2, "the value made of what is fed")


@_check
def _what_a_device_without_values_gives(bench: Bench) -> None:
    """Zeros from the null device, an error that says why from others."""
    x = _placeholder()
    with device(bench.name):
        y = raw_ops.Tanh(x, name="without_values")
    with device(CPU):
        copied = raw_ops.Neg(y, name="copied")
    with bench.session() as session:
        if bench.has_values:
            np.testing.assert_allclose(session.run(copied, {x: ROWS}), -np.tanh(ROWS), bench.rtol, bench.rtol)
        elif bench.is_null:
            assert not np.any(session.run([y, copied], {x: ROWS})), "values other than 0"
        else:
            _expect(InvalidArgumentError, lambda: session.run(y, {x: ROWS}), "without_values", "no values")
            _expect(InvalidArgumentError, lambda: session.run(copied, {x: ROWS}), "copied", "no values")


def _there_and_back(bench: Bench, first: str, second: str) -> None:
    x = _placeholder()
    with device(first):
        a = raw_ops.Tanh(x)
    with device(second):
        b = a * 2.0
    with device(first):
        c = raw_ops.Neg(b) + a
    with bench.session() as session:
        found = bench.results(session, [c], {x: ROWS})[0] if first != CPU else session.run(c, {x: ROWS})
    bench.same(found, -np.tanh(ROWS), f"a value from {first} to {second} and back")


@_check
def _copies_to_and_from_the_cpu(bench: Bench) -> None:
    bench.needs_values()
    _there_and_back(bench, bench.name, CPU)
    _there_and_back(bench, CPU, bench.name)


@_check
def _copies_to_another_device_of_the_type(bench: Bench) -> None:
    _there_and_back(bench, bench.name, bench.other)


# ---- control flow


@_check
def _loops(bench: Bench) -> None:
    def build() -> list[Tensor]:
        x = _placeholder()
        body = lambda i, h: (i + 1, raw_ops.Tanh(h) + x * 0.1)  # noqa: E731
        i, y = while_loop(lambda i, h: i < 4, body, (0, x))
        return [i + 0, y]

    bench.agrees(build, {"x": ROWS})


@_check
def _gradients_of_loops(bench: Bench) -> None:
    bench.needs_values()  # parts of the gradient may go to the CPU

    def build() -> list[Tensor]:
        x = _placeholder()
        y = while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, raw_ops.Tanh(h) + x * 0.1), (0, x))[1]
        return gradients(raw_ops.Sum(y, [0, 1]), x)

    bench.agrees(build, {"x": ROWS})


@_check
def _conditionals(bench: Bench) -> None:
    def build() -> Tensor:
        x, choice = _placeholder(), _placeholder("choice", (), dtypes.bool)
        return cond(choice, lambda: raw_ops.Tanh(x), lambda: raw_ops.MatMul(x, x, transpose_b=True))

    for choice in (True, False):
        bench.agrees(build, {"x": ROWS, "choice": np.bool_(choice)})


@_check
def _decisions_by_values_of_the_device(bench: Bench) -> None:
    bench.needs_values()

    def build() -> list[Tensor]:
        x = _placeholder()
        total = raw_ops.Sum(x, [0, 1])
        y = while_loop(lambda h: raw_ops.Less(h, 40.0), lambda h: [h * 2.0], [total])
        return [y, cond(raw_ops.Greater(total, 1.0), lambda: x * 2.0, lambda: x)]

    bench.agrees(build, {"x": ROWS})


@_check
def _a_loop_over_the_device_and_the_cpu(bench: Bench) -> None:
    bench.needs_values()

    def build() -> Tensor:
        x = _placeholder()

        def body(i: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
            with device(CPU):
                h = raw_ops.Tanh(h) + 0.5
            return i + 1, h * x

        return while_loop(lambda i, h: i < 3, body, (0, x))[1]

    bench.agrees(build, {"x": ROWS})


# ---- steps


@_check
def _concurrent_steps(bench: Bench) -> None:
    with device(bench.name):
        v = Variable(np.zeros(4, np.float32), name="v")
        step = v.assign_add(np.ones(4, np.float32), use_locking=True)
    problems: list[BaseException] = []
    with bench.session() as session:
        session.run(v.initializer)

        def work() -> None:
            try:
                for _ in range(10):
                    session.run(step.op)
            except BaseException as e:  # noqa: BLE001 - raised below
                problems.append(e)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]
        bench.same(bench.results(session, [v.value()])[0], np.full(4, 40, np.float32), "a sum of forty steps")


@_check
def _errors_name_the_node(bench: Bench) -> None:
    x = _placeholder(shape=(None, None))
    with device(bench.name):
        y = raw_ops.MatMul(x, x, name="impossible")
    with bench.session() as session:
        _expect(InvalidArgumentError, lambda: session.run(y.op, {x: ROWS}), "impossible", bench.device_type)
        session.run(y.op, {x: np.zeros((3, 3), np.float32)})  # the next step is clean


@_check
def _save_and_restore(bench: Bench) -> None:
    bench.needs_values()
    with device(bench.name):
        v = Variable(ROWS, name="v")
        clear = v.assign(np.zeros_like(ROWS))
    saver = Saver([v])
    with tempfile.TemporaryDirectory() as folder, bench.session() as session:
        session.run(v.initializer)
        path = saver.save(session, str(Path(folder) / "model"), write_meta_graph=False)
        session.run(clear.op)
        saver.restore(session, path)
        bench.same(session.run(v), ROWS, "the restored value")


@_check
def _random_numbers(bench: Bench) -> None:
    with device(bench.name):
        x = raw_ops.RandomStandardNormal([1000], dtype=F, seed=3, seed2=4)
        y = raw_ops.RandomUniform([3, 2], dtype=F, seed=1, seed2=1)
    with bench.session() as session:
        assert [r.shape for r in bench.results(session, [x, y])] == [(1000,), (3, 2)]
    bench.needs_values()
    runs = []
    for _ in range(2):
        with bench.session() as session:
            runs.append([session.run(x), session.run(x)])
    assert np.array_equal(runs[0], runs[1]), "a seed does not make the numbers the same in another session"
    assert not np.array_equal(runs[0][0], runs[0][1]), "two steps draw the same numbers"
    assert abs(float(np.mean(runs[0][0]))) < 0.2 and 0.8 < float(np.std(runs[0][0])) < 1.2, "not a normal distribution"


@_check
def _initializers(bench: Bench) -> None:
    with device(bench.name):
        v = Variable(np.ones(3, np.float32), name="v")
        ready = raw_ops.IsVariableInitialized(v._ref())
        initialize = global_variables_initializer()
    with bench.session() as session:
        session.run(initialize)
        bench.same(bench.results(session, [v.value()])[0], np.ones(3, np.float32), "the first value")
        if bench.has_values:
            assert session.run(ready)
