"""multi_gpu_model: a batch cut into parts, on devices that stand for GPUs."""

import numpy as np
import pytest

import headrace as tf
from headrace.library.keras.utils import multi_gpu

X = np.random.RandomState(0).rand(7, 4).astype(np.float32)


def _model() -> tf.keras.Model:
    inputs = tf.keras.Input((4,))
    hidden = tf.keras.layers.Dense(3, "tanh")(inputs)
    return tf.keras.Model(
        inputs, [tf.keras.layers.Dense(1, name="a")(hidden), tf.keras.layers.Dense(2, name="b")(hidden)]
    )


@pytest.mark.parametrize("relocation", [False, True])
def test_parts_of_a_batch_make_the_whole(monkeypatch: pytest.MonkeyPatch, relocation: bool) -> None:
    monkeypatch.setattr(multi_gpu, "_names", lambda: ["/gpu:0", "/gpu:1", "/gpu:2"])
    model = _model()
    session = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
    tf.keras.backend.set_session(session)
    parallel = tf.keras.utils.multi_gpu_model(model, gpus=2, cpu_relocation=relocation)
    assert parallel.output_names == ["a", "b"]
    products = [op for op in tf.get_default_graph().get_operations() if op.name.startswith("replica_1/")]
    assert any(op.type == "MatMul" and op.device.lower().endswith("gpu:1") for op in products)
    if not relocation:
        for found, wanted in zip(parallel.predict(X), model.predict(X), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
        parallel.compile("sgd", "mse")
        before = model.get_weights()[0]
        parallel.fit(X, [np.ones((7, 1)), np.ones((7, 2))], epochs=1, verbose=0)
        assert (model.get_weights()[0] != before).any()  # the weights are shared
    tf.keras.backend.clear_session()


def test_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_gpu, "_names", lambda: ["/gpu:0", "/gpu:1"])
    with pytest.raises(
        ValueError, match=r"call `multi_gpu_model` with `gpus >= 2`. Received: `gpus=1`.*test_multi_gpu.py"
    ):
        tf.keras.utils.multi_gpu_model(_model(), 1)
    with pytest.raises(ValueError, match=r"this machine only has: \['/gpu:0', '/gpu:1'\], and lacks \['/gpu:5'\]"):
        tf.keras.utils.multi_gpu_model(_model(), [0, 5])
