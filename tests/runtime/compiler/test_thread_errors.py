"""A bad index in compiled code that runs on several threads raises the interpreted step's error; the process lives on."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from runtime.compiler.failing_checks import caught
from torch._subclasses.fake_tensor import FakeTensorMode

import headrace as tf
from headrace.runtime.compiler import archive, background, kept, one_library
from headrace.runtime.compiler.compile import compile_graph
from headrace.runtime.compiler.compile import compiler as compiler_lock
from headrace.runtime.compiler.direct import _try, bare
from headrace.runtime.compiler.loose_code import put
from headrace.runtime.compiler.rows import refusing_negative_indices
from headrace.runtime.compiler.thread_errors import HEADER, carry_errors
from headrace.runtime.compiler.trace import Calls
from headrace.runtime.host.threads import having_threads
from headrace.runtime.planning import tier, worth

N = 20000  # rows: enough for several threads
ROWS = 1000
PARALLEL = re.compile(r"#pragma omp for.*?TORCH_CHECK\(", re.DOTALL)
KERNEL = HEADER + '\nextern "C"  void  kernel(const int64_t* index, int64_t* out, const int64_t n)\n{\n%s\n}\n'
ARGUMENTS = ["const int64_t*", "int64_t*", "const int64_t"]

CHECK = 'TORCH_CHECK(index[i] >= 0, "index out of bounds: {i}");'
REGION = "#pragma omp parallel num_threads(2)\n{\nint tid = omp_get_thread_num();\n%s\n}"
LOOP = "#pragma omp for\nfor(int64_t i=0; i<n; i+=1)\n{\n%s\n}"
NESTED = "#pragma omp for collapse(2)\nfor(int64_t j=0; j<2; j+=1)\n{\nfor(int64_t i=0; i<n; i+=1)\n{\n%s\n}\n}"
SINGLE = "#pragma omp single\n{\nfor(int64_t i=0; i<n; i+=1)\n{\n%s\n}\n}"


def config(mode):
    return tf.ConfigProto(compile=mode, intra_op_parallelism_threads=2, device_count={"GPU": 0})


@pytest.mark.parametrize(
    "text",
    [
        REGION % (LOOP % "out[i] = 1;"),  # no check
        "for(int64_t i=0; i<n; i+=1) {" + CHECK + "}",  # no threads
        REGION % (LOOP % "out[i] = 1;") + "for(int64_t i=0; i<n; i+=1) {" + CHECK + "}",  # no check on the threads
        REGION % ((LOOP % CHECK).replace("omp for", "omp for nowait")),  # no barrier behind the loop
        REGION % ((LOOP % CHECK).replace("omp for", "omp for simd")),
        REGION % ("for(int64_t i=0; i<n; i+=1) {" + CHECK + "}"),  # a check outside the loops
        REGION % (LOOP % ("#pragma omp critical\n{" + CHECK + "}")),
        REGION % ("#pragma omp for\nfor(int64_t i=0; i<n; i+=1)\n" + CHECK),  # no block
        REGION % (LOOP % (CHECK + "{{")),  # blocks that are not closed
        "#pragma omp parallel for\nfor(int64_t i=0; i<n; i+=1)\n{" + CHECK + "}",
    ],
)
def test_text_that_needs_no_change_or_has_another_form_stays_as_it_is(text):
    assert carry_errors(KERNEL % text) == KERNEL % text
    assert carry_errors(text) == text


def test_only_loops_with_checks_catch_errors():
    text = carry_errors(KERNEL % (REGION % (LOOP % "out[i] = 0;" + "\n" + LOOP % CHECK) + REGION % (LOOP % "")))
    assert text.count("catch (...)") == text.count("first_error.rethrow();") == 1
    assert "if (first_error.none_before(1)) {" in text and "first_error.keep(1);" in text


def kernels(*texts):
    """The kernels with these texts, built as Headrace builds them."""
    from torch._inductor.async_compile import AsyncCompile

    with one_library.built_together():
        compiler = AsyncCompile()
        scope = {f"k{i}": compiler.cpp_pybinding(ARGUMENTS, KERNEL % text) for i, text in enumerate(texts)}
        compiler.wait(scope)
    return list(scope.values())


@caught
def test_built_kernels_throw_skip_what_comes_after_and_run_again():
    copy = LOOP % "out[i] = index[i];"
    built = kernels(
        *(REGION % (checked % CHECK + "\n" + copy) for checked in (LOOP, NESTED, SINGLE)),
        REGION % (LOOP % CHECK) + "\n" + REGION % copy,  # another region
        REGION % (LOOP % CHECK) + "\nfor(int64_t i=0; i<n; i+=1) { out[i] = index[i]; }",
    )
    good = torch.arange(100)
    several, one = torch.full((100,), -1), good.clone()
    one[99] = -1

    def run(kernel):
        out = torch.zeros(100, dtype=torch.int64)
        for bad in (several, one):
            with pytest.raises(RuntimeError, match=r"index out of bounds: \{i\}"):
                kernel(bad, out, 100)
            assert not out.any()
        kernel(good, out, 100)
        return out

    with ThreadPoolExecutor(4) as pool:
        for out in pool.map(run, [k for k in built for _ in range(20)]):
            torch.testing.assert_close(out, good)


@pytest.fixture
def texts(monkeypatch):
    """The texts of the kernels that are built meanwhile, as torch's compiler wrote them."""
    seen = []
    monkeypatch.setattr(one_library, "carry_errors", lambda text: [seen.append(text), carry_errors(text)][1])
    return seen


def lookup(table, rows, x):
    return tf.reduce_sum(tf.exp(tf.gather(table, rows, name="node") * 2.0) + x, 1)


def labels(table, rows, x):
    logits = tf.matmul(x, table, transpose_b=True)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=rows, logits=logits, name="node") * 2.0


def update(table, rows, x):
    return tf.exp(tf.scatter_update(table, rows, tf.exp(x) * 2.0, name="node") * 0.1)


def segments(table, rows, x):
    return tf.unsorted_segment_sum(tf.exp(x) * 2.0, rows, ROWS, name="node") + table


def training(table, rows, x):
    loss = tf.reduce_mean(tf.square(tf.gather(table, rows, name="node") - x))
    with tf.control_dependencies([tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)]):
        return tf.identity(loss)


@caught
@pytest.mark.parametrize("make", [lookup, labels, update, segments, training])
def test_the_error_is_the_interpreted_one_and_the_session_goes_on(make):
    random = np.random.RandomState(0)
    table = tf.Variable(random.rand(ROWS, 8).astype(np.float32))
    rows, x = tf.placeholder(tf.int32, [N], name="rows"), tf.placeholder(tf.float32, [N, 8], name="x")
    y = make(table, rows, x)
    good = np.arange(N) % ROWS
    bad = good.copy()
    bad[N - 7] = ROWS + 5
    values = np.repeat(random.rand(1, 8), N, 0)  # the same for all rows: threads may update them in any order
    results, messages = [], []
    for mode in ("off", "always"):
        with tf.Session(config=config(mode)) as session:
            session.run(tf.global_variables_initializer())
            before = session.run(y, {rows: good, x: values})
            for _ in range(2):
                with pytest.raises(tf.errors.InvalidArgumentError, match=str(ROWS + 5)) as caught:
                    session.run(y, {rows: bad, x: values})
            assert caught.value.op.name.startswith("node")
            messages.append(caught.value.message)
            results.append([before, session.run(y, {rows: good, x: values}), session.run(table)])
    assert messages[0] == messages[1]
    for interpreted, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, interpreted, rtol=1e-4)


@caught
def test_steps_that_fail_beside_steps_that_do_not():
    table = tf.Variable(np.arange(ROWS * 8, dtype=np.float32).reshape(ROWS, 8) % 7)
    rows = tf.placeholder(tf.int32, [N + 1])
    y = tf.reduce_sum(tf.nn.relu(tf.gather(table, rows) * 2.0) + 1.0)  # whole numbers: exact in any order
    good = np.arange(N + 1) % ROWS

    with tf.Session(config=config("always")) as session:
        session.run(table.initializer)
        expected = np.sum(session.run(table)[good] * 2.0 + 1.0, dtype=np.float64)

        def step(i):
            if i % 2:
                assert session.run(y, {rows: good}) == expected
                return
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = -1"):
                session.run(y, {rows: good - 1})

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(step, range(40)))


@pytest.mark.usefixtures("accelerator")
@caught
def test_code_from_the_compiling_process(monkeypatch, tmp_path):
    """Its inputs are lengths: the first that the process invents, 0, is refused in a loop of several threads."""
    monkeypatch.setattr(archive, "folder", lambda: tmp_path / "headrace")
    monkeypatch.setattr("headrace.runtime.planning.trial.Trial.compiled_is_faster", True)
    monkeypatch.setattr(worth, "SECONDS", 1e-9)
    monkeypatch.setattr(worth, "SECONDS_PER_NODE", 0.0)
    table = tf.Variable(np.ones((ROWS, 8), np.float32))
    lengths = tf.placeholder(tf.int32, [N + 2])
    y = tf.reduce_sum(tf.exp(tf.gather(table, lengths - 1, name="last") * 2.0) + 1.0)
    good = np.arange(N + 2) % ROWS + 1
    loaded = []
    monkeypatch.setattr(kept, "put", lambda parts: [loaded.append(parts), put(parts)][1])
    with tf.Session(config=config("auto")) as session:
        session.run(table.initializer)
        for i in range(40):
            if i == tier.RUNS + 2:
                background.queue.wait(200)
            session.run(y, {lengths: good})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[3\] = -1") as caught:
            session.run(y, {lengths: np.where(good == 4, 0, good)})
        session.run(y, {lengths: good})
        steps = session._master.plan((lengths,), (y,), ()).tier
    assert caught.value.op.name == "last"
    assert len(loaded) == 1 and [p.regions for p in steps.compiled.values()] == [1]


@caught
def test_invented_inputs_that_are_refused_on_several_threads(texts):
    def last(table, lengths):
        with refusing_negative_indices(table.device):
            return (torch.exp(table.index_select(0, lengths - 1)) * 2.0,)

    with compiler_lock:
        with FakeTensorMode():
            fakes = [torch.empty(ROWS, 8), torch.empty(N + 3, dtype=torch.int64)]
        artifact = compile_graph(Calls({}).trace(last, fakes), fakes, "region", 2)
    with having_threads(2):
        code, is_apart = bare(artifact, fakes, [0])
        with pytest.raises(RuntimeError, match="index out of bounds"):
            _try(lambda inputs: artifact(*inputs), code, fakes, 0)
        assert _try(lambda inputs: artifact(*inputs), code, fakes, 1) is is_apart is True
    assert any(PARALLEL.search(text) for text in texts)
