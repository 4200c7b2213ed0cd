"""The update rules against TensorFlow's kernels, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from golden.training_cases import CASES, STEPS, Case, start, step_inputs

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.resources.calling.invoke import invoke
from headrace.resources.state.variable import Variable

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "training.npz")


def make_variable(name: str, value: np.ndarray) -> Variable:
    variable = Variable(name, tf.float32, torch.device("cpu"))
    variable.assign(torch.tensor(value))
    return variable


def attributes(case: Case) -> dict:
    op_def = REGISTRY.get(case.op)
    found = {attr.name: attr.default for attr in op_def.signature.attrs}
    return {**found, "T": tf.float32, "Tindices": tf.int32, **case.attrs}


def run_steps(case: Case, by_handle: bool = False) -> dict[str, Variable]:
    op_def = REGISTRY.get(f"Resource{case.op.lstrip('_')}" if by_handle else case.op)
    variables = {name: make_variable(name, value) for name, value in start(case).items()}
    for step in range(STEPS):
        others = {name: torch.tensor(value) for name, value in step_inputs(case, step).items()}
        inputs = [variables.get(a.name, others.get(a.name)) for a in op_def.signature.inputs]
        outputs = invoke(op_def, inputs, attributes(case))
        assert outputs == ([] if by_handle else [variables["var"]])
    return variables


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_twenty_steps_as_tensorflow(case):
    for name, variable in run_steps(case).items():
        np.testing.assert_allclose(
            variable.value.numpy(), GOLDEN[f"{case.name}/{name}"], rtol=2e-6, atol=1e-6, err_msg=name
        )


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_twenty_steps_by_handle(case):
    by_ref = run_steps(case)
    for name, variable in run_steps(case, by_handle=True).items():
        assert torch.equal(variable.value, by_ref[name].value), name


def test_every_op_of_the_family_has_a_case():
    declared = {d.name for d in REGISTRY if d.location.rpartition(":")[0].endswith("ops/training.py")}
    by_handle = {f"Resource{case.op.lstrip('_')}" for case in CASES}
    assert declared == {case.op for case in CASES} | by_handle


@pytest.mark.parametrize("case", [c for c in CASES if c.sparse], ids=lambda case: case.name)
def test_sparse_updates_leave_other_rows_alone(case):
    op_def = REGISTRY.get(case.op)
    variables = {name: make_variable(name, value) for name, value in start(case).items()}
    others = {name: torch.tensor(value) for name, value in step_inputs(case, 0).items()}
    invoke(op_def, [variables.get(a.name, others.get(a.name)) for a in op_def.signature.inputs], attributes(case))
    untouched = np.setdiff1d(np.arange(5), others["indices"].numpy())
    for name, value in start(case).items():
        np.testing.assert_array_equal(variables[name].value.numpy()[untouched], value[untouched])


def test_a_gradient_of_another_shape_is_refused_when_run():
    variable = make_variable("var", np.zeros([2, 3], np.float32))
    op_def = REGISTRY.get("ApplyGradientDescent")
    with pytest.raises(ValueError, match=r"do not have the same shape \[2, 3\] \[3\]"):
        invoke(op_def, [variable, torch.tensor(0.1), torch.zeros(3)], {"use_locking": False, "T": tf.float32})


def test_rows_out_of_range_are_refused():
    variable = make_variable("var", np.zeros([2, 3], np.float32))
    accum = make_variable("accum", np.zeros([2, 3], np.float32))
    attrs = {"use_locking": False, "use_nesterov": False, "T": tf.float32, "Tindices": tf.int64}
    inputs = [variable, accum, torch.tensor(0.1), torch.zeros(1, 3), torch.tensor([2]), torch.tensor(0.9)]
    with pytest.raises(IndexError):
        invoke(REGISTRY.get("SparseApplyMomentum"), inputs, attrs)


@pytest.mark.parametrize("off", ["", "arrays"])
@pytest.mark.parametrize("wrong", [[0, 2], [0, -1]])
def test_rows_out_of_range_change_nothing(wrong, off, monkeypatch):
    monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
    made = [tf.Variable(np.ones([2, 3], np.float32)) for _ in range(2)]
    rows = tf.Variable(wrong)
    update = tf.raw_ops.SparseApplyMomentum(
        made[0]._ref(), made[1]._ref(), 0.1, tf.ones([2, 3]), tf.identity(rows), 0.9, use_locking=True
    )
    with tf.Session(config=tf.ConfigProto(compile="off")) as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            session.run(update.op)
        np.testing.assert_array_equal(session.run(made), np.ones([2, 2, 3]))


def test_locked_updates_take_every_lock_once_and_give_it_back():
    case = next(c for c in CASES if c.attrs.get("use_locking"))
    for variable in run_steps(case).values():
        assert variable.lock.acquire(blocking=False)
        variable.lock.release()


class TestShapes:
    def variable(self, shape, dtype=tf.float32):
        return tf.raw_ops.VariableV2(shape=shape, dtype=dtype)

    def test_dense_merges_the_gradient_into_the_variable(self):
        with tf.Graph().as_default():
            out = tf.raw_ops.ApplyGradientDescent(
                self.variable([None, 3]), 0.1, tf.constant(np.zeros([2, 3], np.float32))
            )
            assert out.shape.as_list() == [2, 3]
            assert out.dtype == tf.float32._as_ref

    def test_dense_mismatch(self):
        with tf.Graph().as_default(), pytest.raises(ValueError, match="ApplyMomentum"):
            zeros = tf.constant(np.zeros([2, 3], np.float32))
            tf.raw_ops.ApplyMomentum(self.variable([2, 3]), self.variable([3, 2]), 0.1, zeros, 0.9)

    def test_hyper_parameters_are_scalars(self):
        with tf.Graph().as_default(), pytest.raises(ValueError, match="rank 0"):
            zeros = tf.constant(np.zeros([2], np.float32))
            tf.raw_ops.ApplyGradientDescent(self.variable([2]), [0.1, 0.2], zeros)

    def test_sparse_rows_must_match_indices(self):
        with tf.Graph().as_default():
            rows = tf.constant(np.zeros([2, 3], np.float32))
            arguments = (self.variable([5, 3]), self.variable([5, 3]), 0.1, rows)
            assert tf.raw_ops.SparseApplyAdagrad(*arguments, [0, 4]).shape.as_list() == [5, 3]
            with pytest.raises(ValueError, match="SparseApplyAdagrad"):
                tf.raw_ops.SparseApplyAdagrad(*arguments, [0, 1, 4])
            with pytest.raises(ValueError, match="SparseApplyAdagrad"):
                tf.raw_ops.SparseApplyAdagrad(self.variable([5, 2]), self.variable([5, 2]), 0.1, rows, [0, 4])

    def test_integers_are_refused(self):
        with tf.Graph().as_default(), pytest.raises(TypeError, match="int32"):
            tf.raw_ops.ApplyGradientDescent(self.variable([2], tf.int32), 1, [1, 1])
