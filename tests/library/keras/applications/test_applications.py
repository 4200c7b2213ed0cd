"""The networks: names, numbers of parameters and outputs as tf_keras has them; images and classes of ImageNet."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from golden.make_applications import SIZE, image, values

import headrace as tf

applications = tf.keras.applications
GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "applications.json").read_text())
QUICK = ("MobileNet", "MobileNetV2")


@pytest.fixture(autouse=True)
def clear():
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def check(name):
    model = getattr(applications, name)(include_top=False, weights=None, input_shape=(SIZE, SIZE, 3), pooling="avg")
    expected = GOLDEN[name]
    layers = [layer.name for layer in model.layers if layer.weights]
    assert f"{len(model.layers)} {len(layers)} {' '.join(layers[:3] + layers[-3:])}" == expected["layers"]
    assert (model.name, model.count_params()) == (expected["name"], expected["params"])
    model.set_weights(list(values([w.name for w in model.weights], [w.shape.as_list() for w in model.weights])))
    np.testing.assert_allclose(model.predict(image())[0][:4], expected["outputs"], rtol=2e-3, atol=1e-4)


def test_every_result_is_of_a_network():
    assert set(GOLDEN) <= {name for name in vars(applications) if name[0].isupper()}


@pytest.mark.parametrize("name", QUICK)
def test_network(name):
    check(name)


@pytest.mark.usefixtures("full_length")
@pytest.mark.parametrize("name", sorted(GOLDEN.keys() - set(QUICK)))
def test_large_network(name):
    check(name)


def test_top_and_weights(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    make = applications.MobileNet
    model = make(weights=None, classes=3, input_shape=(32, 32, 3), alpha=0.25)
    assert [layer.name for layer in model.layers[-3:]] == ["conv_preds", "reshape_2", "predictions"]
    np.testing.assert_allclose(model.predict(np.ones([2, 32, 32, 3])).sum(axis=1), [1.0, 1.0], rtol=1e-5)
    path = tmp_path / "w.h5"
    model.save_weights(path)
    again = make(weights=path, classes=3, input_shape=(32, 32, 3), alpha=0.25)
    for one, other in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="mobilenet_1_0_224_tf_no_top.h5'. Headrace downloads nothing"):
        make(include_top=False)
    with pytest.raises(ValueError, match="`classes` should be 1000, got 3"):
        make(classes=3)


def test_inputs():
    make = applications.VGG16
    tensor = tf.keras.Input((40, 40, 3), name="images")
    assert make(include_top=False, weights=None, input_tensor=tensor, pooling="max").input_names == ["images"]
    assert make(include_top=False, weights=None).output_shape == (None, None, None, 512)
    with pytest.raises(ValueError, match="at least 32x32; got `input_shape=.31, 40, 3."):
        make(include_top=False, weights=None, input_shape=(31, 40, 3))
    with pytest.raises(ValueError, match="static `input_shape`"):
        make(weights=None, input_shape=(None, None, 3))
    with pytest.raises(ValueError, match="tuple of three integers"):
        make(weights=None, input_shape=(32, 32))
    with pytest.raises(ValueError, match="pooling must be 'avg', 'max' or None, got 'sum'"):
        make(weights=None, pooling="sum")


COLOURS = np.array([[[0.0, 127.5, 255.0]]], np.float32)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("tf", [-1.0, 0.0, 1.0]),
        ("caffe", [255.0 - 103.939, 127.5 - 116.779, -123.68]),
        ("torch", [-0.485 / 0.229, (0.5 - 0.456) / 0.224, (1.0 - 0.406) / 0.225]),
    ],
)
def test_preprocessing(mode, expected):
    preprocess = applications.imagenet_utils.preprocess_input
    x = COLOURS.copy()
    np.testing.assert_allclose(preprocess(x, mode=mode).ravel(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(x, COLOURS)
    first = preprocess(x.transpose(2, 0, 1)[None], "channels_first", mode)
    np.testing.assert_allclose(first.ravel(), expected, rtol=1e-5, atol=1e-6)
    single = preprocess(x.transpose(2, 0, 1), "channels_first", mode)
    np.testing.assert_allclose(single.ravel(), expected, rtol=1e-5, atol=1e-6)
    tensor = tf.Session().run(preprocess(tf.constant(x[None]), mode=mode))
    np.testing.assert_allclose(tensor.ravel(), expected, rtol=1e-5, atol=1e-6)
    whole = preprocess(np.full([1, 1, 3], 255), mode=mode)
    assert whole.dtype == np.float32


def test_preprocessing_of_each_family():
    for module, value in {"vgg16": 255.0 - 103.939, "nasnet": -1.0, "densenet": -0.485 / 0.229}.items():
        found = getattr(applications, module).preprocess_input(COLOURS.copy()).ravel()[0]
        assert found == pytest.approx(value, rel=1e-5)
    with pytest.raises(ValueError, match="mode must be"):
        applications.imagenet_utils.preprocess_input(COLOURS, mode="x")
    with pytest.raises(ValueError, match="data_format must be"):
        applications.imagenet_utils.preprocess_input(COLOURS, "x")


def test_names_of_classes(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    decode = applications.vgg16.decode_predictions
    probabilities = np.zeros([1, 1000])
    probabilities[0, [3, 7]] = 0.25, 0.75
    with pytest.raises(ValueError, match="imagenet_class_index.json', which names the classes"):
        decode(probabilities)
    (tmp_path / ".keras" / "models").mkdir(parents=True)
    path = tmp_path / ".keras" / "models" / "imagenet_class_index.json"
    path.write_text(json.dumps({str(i): [f"n{i}", f"thing {i}"] for i in range(1000)}))
    assert decode(probabilities, top=2) == [[("n7", "thing 7", 0.75), ("n3", "thing 3", 0.25)]]
    with pytest.raises(ValueError, match=r"Found array with shape: \(1, 10\)"):
        decode(np.zeros([1, 10]))
    for text in ("{", "{}", json.dumps({str(i): ["x"] for i in range(1000)}), "3"):
        path.write_text(text)
        with pytest.raises(ValueError, match="does not name the 1000 classes"):
            decode(probabilities)
