"""What an EstimatorSpec accepts, and what it says of the rest."""

from typing import Any

import pytest

import headrace as tf

ModeKeys = tf.estimator.ModeKeys
EstimatorSpec = tf.estimator.EstimatorSpec


def test_every_mode_needs_its_own() -> None:
    loss, step = tf.constant(1.0), tf.no_op()
    assert EstimatorSpec(ModeKeys.TRAIN, loss=loss, train_op=step).train_op is step
    assert EstimatorSpec(ModeKeys.EVAL, loss=loss).loss is loss
    spec = EstimatorSpec(ModeKeys.PREDICT, predictions={"a": loss})
    assert list(spec.export_outputs) == ["serving_default"]
    assert spec.training_hooks == ()
    assert isinstance(spec.scaffold, tf.train.Scaffold)


def test_a_loss_of_one_element_becomes_a_scalar() -> None:
    assert EstimatorSpec(ModeKeys.EVAL, loss=tf.constant([1.0])).loss.shape == []


def test_a_single_export_is_the_default() -> None:
    output = tf.estimator.export.PredictOutput(tf.constant(1.0))
    spec = EstimatorSpec(ModeKeys.PREDICT, predictions=tf.constant(1.0), export_outputs={"mine": output})
    assert spec.export_outputs == {"mine": output, "serving_default": output}


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"mode": "fit"}, ValueError, "mode must be one of 'train', 'eval', 'infer'.*got 'fit'"),
        ({"mode": "train", "loss": "L"}, ValueError, "Missing train_op"),
        ({"mode": "train", "train_op": "OP"}, ValueError, "Missing loss.*'train'"),
        ({"mode": "eval"}, ValueError, "Missing loss.*'eval'"),
        ({"mode": "infer"}, ValueError, "Missing predictions"),
        ({"mode": "train", "loss": "L", "train_op": 3}, TypeError, "train_op must be Operation or Tensor, given: 3"),
        ({"mode": "eval", "loss": 1.5}, TypeError, "loss must be Tensor, given: 1.5"),
        ({"mode": "eval", "loss": "VECTOR"}, ValueError, "Loss must be scalar, given"),
        ({"mode": "infer", "predictions": {"a": 1}}, TypeError, r"predictions\['a'\] must be Tensor, given: 1"),
        ({"mode": "eval", "loss": "L", "eval_metric_ops": [1]}, TypeError, "eval_metric_ops must be a dict"),
        ({"mode": "eval", "loss": "L", "eval_metric_ops": {"m": 1}}, TypeError, r"\(metric_value, update_op\) tuples"),
        (
            {"mode": "eval", "loss": "L", "eval_metric_ops": {"m": (1, 2)}},
            TypeError,
            r"value of eval_metric_ops\['m'\]",
        ),
        ({"mode": "infer", "predictions": "L", "export_outputs": {"a": 1}}, TypeError, "must be ExportOutput objects"),
        ({"mode": "eval", "loss": "L", "training_hooks": [1]}, TypeError, "must be SessionRunHook instances, given: 1"),
        ({"mode": "eval", "loss": "L", "scaffold": 1}, TypeError, "scaffold must be tf.train.Scaffold. Given: 1"),
        ({"mode": "eval", "loss": "OTHER"}, ValueError, "loss must be from the default graph"),
    ],
)
def test_what_a_spec_refuses(arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    values = {"L": tf.constant(1.0), "OP": tf.no_op(), "VECTOR": tf.zeros([3]), "OTHER": other}
    arguments = {k: values.get(v, v) if isinstance(v, str) else v for k, v in arguments.items()}
    with pytest.raises(error, match=says) as raised:
        EstimatorSpec(**arguments)
    assert "test_estimator_spec.py" in str(raised.value)


def test_several_exports_need_a_default() -> None:
    output = tf.estimator.export.PredictOutput(tf.constant(1.0))
    with pytest.raises(ValueError, match=r"none of them is specified as the default.*\['a', 'b'\]"):
        EstimatorSpec(ModeKeys.PREDICT, predictions=tf.constant(1.0), export_outputs={"a": output, "b": output})


def test_outputs_check_what_they_export() -> None:
    export = tf.estimator.export
    with pytest.raises(ValueError, match="scores must be a float32 Tensor"):
        export.ClassificationOutput(scores=tf.constant(1))
    with pytest.raises(ValueError, match="classes must be a string Tensor"):
        export.ClassificationOutput(classes=tf.constant(1.0))
    with pytest.raises(ValueError, match="At least one of scores and classes must be set"):
        export.ClassificationOutput()
    with pytest.raises(ValueError, match="value must be a float32 Tensor; got 3"):
        export.RegressionOutput(3)
    with pytest.raises(ValueError, match="key must be a string; got 1"):
        export.PredictOutput({1: tf.constant(1.0)})
    with pytest.raises(ValueError, match="Classification input must be a single string Tensor"):
        export.ClassificationOutput(scores=tf.constant([1.0])).as_signature_def({"x": tf.placeholder(tf.float32)})
    assert list(export.PredictOutput(tf.constant(1.0)).outputs) == ["output"]
