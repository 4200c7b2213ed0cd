"""Models and weights in files: exchange with TensorFlow's Keras, loading by name, and files that are not what they should be."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.library.keras.metrics.of_losses import MeanSquaredError
from headrace.library.keras.optimizers.rmsprop import RMSprop
from headrace.library.keras.saving.later_keras import as_before

h5py = pytest.importorskip("h5py")
FOLDER = Path(__file__).parents[3] / "golden" / "keras_files"
RESULTS = np.load(FOLDER / "results.npz")
layers, models = tf.keras.layers, tf.keras.models


@pytest.fixture(autouse=True)
def clear():
    tf.keras.backend.clear_session()
    yield
    tf.keras.backend.clear_session()


def outputs(model, *inputs):
    tensors = [tf.constant(value) for value in inputs]
    return tf.keras.backend.get_session().run(model(tensors if len(tensors) > 1 else tensors[0]))


def small(name="small", units=2):
    return tf.keras.Sequential(
        [layers.Dense(3, input_shape=(3,), name="first"), layers.Dense(units, name="second")], name=name
    )


def same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def cleared(model):
    model.set_weights([np.zeros_like(value) for value in model.get_weights()])
    return model


# ---- files of TensorFlow's Keras


def test_a_stack_of_keras():
    model = models.load_model(FOLDER / "stack.h5", compile=False)
    assert [layer.name for layer in model.layers] == ["dense", "batch_normalization", "dropout", "output"]
    np.testing.assert_allclose(outputs(model, RESULTS["x"]), RESULTS["stack"], rtol=1e-5)
    assert model.layers[0].kernel_regularizer.get_config()["l2"] == pytest.approx(0.01)
    values = model.get_weights()
    cleared(model).load_weights(str(FOLDER / "stack"))
    same(model.get_weights(), values)


def test_a_graph_of_keras():
    model = models.load_model(FOLDER / "graph.h5", compile=False)
    total, folded = outputs(model, RESULTS["image"], RESULTS["words"].astype(np.int32))
    np.testing.assert_allclose(total, RESULTS["total"], rtol=1e-5)
    np.testing.assert_allclose(folded, RESULTS["folded"], rtol=1e-5)
    assert not model.get_layer("embedding").trainable
    values = model.get_weights()
    cleared(model).load_weights(FOLDER / "graph_weights.h5")
    same(model.get_weights(), values)


def test_training_goes_on_where_keras_stopped():
    """The settings of compile and the state of Adam come from the file: the next losses are those of TensorFlow."""
    model = models.load_model(FOLDER / "stack.h5")
    assert model.metrics_names[0] == "loss" and len(model.metrics) == 1
    np.testing.assert_allclose(model.predict(RESULTS["x"]), RESULTS["stack"], rtol=1e-5)
    losses = [model.train_on_batch(RESULTS["x"], RESULTS["y"])[0] for _ in range(4)]
    np.testing.assert_allclose(losses, RESULTS["stack_losses"], rtol=1e-4)


def test_training_goes_on_where_it_stopped(tmp_path):
    """Saved as a whole, or as weights with the state of the optimizer, a model trains on as one that was not saved."""
    x, y = RESULTS["x"], RESULTS["y"]

    def half(y_true, y_pred):
        return tf.reduce_mean(tf.square(y_true - y_pred), axis=-1) / 2.0

    model = small()
    model.compile(RMSprop(0.01, momentum=0.5), half, metrics=["mae", MeanSquaredError("mse")])
    model.fit(x, y, epochs=2, verbose=0)
    model.save(tmp_path / "m.h5")
    model.save(tmp_path / "plain.h5", include_optimizer=False)
    model.save_weights(str(tmp_path / "w"))
    model.reset_metrics()  # those of the last epoch
    expected = [model.train_on_batch(x, y) for _ in range(3)]
    again = models.load_model(tmp_path / "m.h5", {"half": half})
    assert again.metrics_names == model.metrics_names
    np.testing.assert_allclose([again.train_on_batch(x, y) for _ in range(3)], expected, rtol=1e-5)
    again.load_weights(str(tmp_path / "w"))
    np.testing.assert_allclose([again.train_on_batch(x, y) for _ in range(3)], expected, rtol=1e-5)
    plain = models.load_model(tmp_path / "plain.h5")
    with pytest.raises(RuntimeError, match="must compile your model"):
        plain.train_on_batch(x, y)
    with pytest.raises(ValueError, match="half"):
        models.load_model(tmp_path / "m.h5")


def test_optimizers_of_tf_train_are_not_saved(tmp_path):
    model = small()
    model.compile(tf.train.AdamOptimizer(), "mse")
    model.save(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5") as file:
        assert "training_config" not in file.attrs and "optimizer_weights" not in file


# ---- files of our own


def test_the_layout_is_kerass(tmp_path):
    """Groups, datasets and attributes are those of the file that Keras wrote, but for what later versions added."""
    models.load_model(FOLDER / "graph.h5", compile=False).save(tmp_path / "graph.h5")

    def layout(path):
        found = {}
        with h5py.File(path) as file:
            file.visititems(lambda name, item: found.update({name: getattr(item, "shape", None)}))
            names = {name: list(map(_text, file[name].attrs.get("weight_names", ()))) for name in found}
            order = list(map(_text, file["model_weights"].attrs["layer_names"]))
        found.pop("model_weights/top_level_model_weights", None)
        names.pop("model_weights/top_level_model_weights", None)
        return found, names, order

    assert layout(tmp_path / "graph.h5") == layout(FOLDER / "graph.h5")


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


@pytest.mark.parametrize("name", ["weights.h5", "weights.hdf5", "weights.keras", "weights", "folder/weights"])
def test_weights_come_back(tmp_path, name):
    model, path = small(), tmp_path / name
    values = model.get_weights()
    if name != "folder/weights":
        path.parent.mkdir(exist_ok=True)
    model.save_weights(str(path))
    assert path.is_file() == ("." in name)
    cleared(model).load_weights(str(path))
    same(model.get_weights(), values)
    if "." not in name:
        assert tf.train.latest_checkpoint(str(path.parent)) == str(path)


def test_a_model_comes_back_from_an_open_file(tmp_path):
    model = small()
    with h5py.File(tmp_path / "a.h5", "w") as file:
        tf.keras.models.save_model(model, file)
    with h5py.File(tmp_path / "a.h5") as file:
        again = models.load_model(file, compile=False)
        same(again.get_weights(), model.get_weights())
    assert again.to_json() == model.to_json()
    cleared(model).load_weights(tmp_path / "a.h5")  # the weights in a whole model
    same(model.get_weights(), again.get_weights())


def test_by_name(tmp_path):
    model = small()
    values = model.get_weights()
    model.save_weights(tmp_path / "w.h5")
    other = tf.keras.Sequential(
        [layers.Dense(3, input_shape=(3,), name="new"), layers.Dense(3, name="first"), layers.Dense(5, name="second")]
    )
    before = other.get_weights()
    with pytest.raises(ValueError, match=r'Layer "second" has weight second.*\(3, 5\).*shape \(3, 2\)'):
        other.load_weights(tmp_path / "w.h5", by_name=True)
    other.load_weights(tmp_path / "w.h5", by_name=True, skip_mismatch=True)
    same(other.get_weights(), [*before[:2], *values[:2], *before[4:]])
    with pytest.raises(ValueError, match="containing 2 layers into a model with 3 layers: first, second into new"):
        other.load_weights(tmp_path / "w.h5")
    with pytest.raises(ValueError, match="skip_mismatch can only be set to True when by_name"):
        other.load_weights(tmp_path / "w.h5", skip_mismatch=True)


def test_names_that_do_not_fit_in_one_attribute(tmp_path):
    names = [f"layer_{i:03d}_{'x' * 300}" for i in range(250)]
    model = tf.keras.Sequential([layers.Activation("relu", name=names[0], input_shape=(1,))])
    for name in names[1:]:
        model.add(layers.Activation("relu", name=name))
    model.save_weights(tmp_path / "w.h5")
    with h5py.File(tmp_path / "w.h5") as file:
        assert (
            "layer_names" not in file.attrs and len(file.attrs["layer_names0"]) + len(file.attrs["layer_names1"]) == 250
        )
    model.load_weights(tmp_path / "w.h5")


def test_subclassed_models_save_weights(tmp_path):
    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [layers.Dense(3), layers.Dense(2)]
            self.last = {"a": layers.Dense(1)}

        def call(self, inputs):
            return self.last["a"](self.blocks[1](self.blocks[0](inputs)))

    net = Net()
    with pytest.raises(ValueError, match="has not created its variables yet"):
        net.save_weights(tmp_path / "w.h5")
    net.build((None, 4))
    values = net.get_weights()
    for name in ("w.h5", "w"):
        net.save_weights(str(tmp_path / name))
        cleared(net).load_weights(str(tmp_path / name))
        same(net.get_weights(), values)
    keys = {key for key, _ in tf.train.list_variables(str(tmp_path / "w"))}
    assert {"blocks/0/kernel/.ATTRIBUTES/VARIABLE_VALUE", "last/a/bias/.ATTRIBUTES/VARIABLE_VALUE"} <= keys
    with pytest.raises(NotImplementedError, match="requires the model to be a Functional model or a Sequential"):
        net.save(tmp_path / "model.h5")


def test_a_checkpoint_of_a_saver(tmp_path):
    model = small()
    values = model.get_weights()
    tf.train.Saver(model.weights).save(tf.keras.backend.get_session(), str(tmp_path / "m"))
    cleared(model).load_weights(str(tmp_path / "m"))
    same(model.get_weights(), values)


def test_the_user_is_asked(tmp_path, monkeypatch):
    model, path = small(), tmp_path / "w.h5"
    model.save_weights(path)
    saved = path.read_bytes()
    answers = iter(["what", "n", "Y"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    cleared(model).save_weights(path, overwrite=False)
    assert path.read_bytes() == saved
    model.save_weights(path, overwrite=False)
    assert path.read_bytes() != saved


# ---- what is refused


def test_code_is_never_run():
    with pytest.raises(
        ValueError, match=r"Lambda layer 'twice'.*bytecode, which is never run.*custom_objects=\{'twice': function\}"
    ):
        models.load_model(FOLDER / "code.h5")
    model = models.load_model(FOLDER / "code.h5", {"twice": lambda x: x * 3.0}, compile=False)
    np.testing.assert_array_equal(outputs(model, np.ones([1, 2], np.float32)), [[3.0, 3.0]])


def _spoil(path, change):
    with h5py.File(path, "r+") as file:
        change(file)


def _link(file):
    del file["first"]["first"]["kernel:0"]
    file["first"]["first"]["kernel:0"] = h5py.ExternalLink("/etc/passwd", "/")


def _elsewhere(file):
    del file["first"]["first"]["kernel:0"]
    file["first"]["first"].create_dataset("kernel:0", (3, 3), dtype="f4", external=[("/etc/passwd", 0, 36)])


def _other(make):
    def change(file):
        del file["first"]["first"]["kernel:0"]
        make(file["first"]["first"])

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_link, "is a link to elsewhere"),
        (_elsewhere, "the numbers of .* are in another file"),
        (_other(lambda group: None), "there is no 'first/kernel:0'"),
        (_other(lambda group: group.create_group("kernel:0")), "is no array"),
        (_other(lambda group: group.create_dataset("kernel:0", data=[b"abc"])), "holds no numbers"),
        (_other(lambda group: group.create_dataset("kernel:0", (1 << 40,), "f4", chunks=(1 << 20,))), "shape .1099511627776,"),
        (lambda file: file.attrs.__setitem__("layer_names", 3), "is no list of names"),
        (lambda file: file.attrs.__setitem__("layer_names", [1, 2]), "and no text"),
        (lambda file: file["first"].attrs.__setitem__("weight_names", [b"\xff"] * 2), "not in UTF-8"),
        (lambda file: file["first"].attrs.__setitem__("weight_names", [b"first/bias:0"]), "expects 2 weights, but .* 1 elem"),
        (lambda file: file.attrs.__setitem__("keras_version", "1.2.0"), "written by Keras 1.2.0"),
        (lambda file: file.attrs.__setitem__("backend", "theano"), "by Keras on 'theano'"),
    ],
)  # fmt: skip
def test_spoilt_weights(tmp_path, change, text):
    model, path = small(), tmp_path / "w.h5"
    model.save_weights(path)
    before = model.get_weights()
    _spoil(path, change)
    with pytest.raises(ValueError, match=text):
        model.load_weights(path)
    same(model.get_weights(), before)


@pytest.mark.parametrize("value", ["{", b"\xff", "[" * 100_000])
def test_spoilt_configurations(tmp_path, value):
    path = tmp_path / "m.h5"
    with h5py.File(path, "w") as file:
        if len(value) < 1000:
            file.attrs["model_config"] = value
        else:
            file.attrs.create("model_config", value, dtype=h5py.string_dtype())
    with pytest.raises(ValueError, match="model_config' is no(t in UTF-8| JSON)"):
        models.load_model(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "m.h5"
    with pytest.raises(OSError, match="does not exist"):
        models.load_model(path)
    path.write_text("text")
    with pytest.raises(OSError, match="is no HDF5 file"):
        models.load_model(path)
    small().save_weights(path)
    with pytest.raises(ValueError, match="No model found in config file.*weights only"):
        models.load_model(path)
    with pytest.raises(NotImplementedError, match="SavedModels are not supported"):
        models.load_model(tmp_path)
    with pytest.raises(NotImplementedError, match="save_format='h5'"):
        small().save(tmp_path / "saved", save_format="tf")
    with pytest.raises(ValueError, match="looks like an HDF5 file"):
        small().save_weights(path, save_format="tf")
    with pytest.raises(ValueError, match="save_format must be 'h5', 'tf' or None, got 'x'"):
        small().save_weights(path, save_format="x")


def test_checkpoints_of_others(tmp_path):
    model = small()
    small("wide", 4).save_weights(str(tmp_path / "wide"))
    with pytest.raises(ValueError, match=r"second.*has shape \(3, 2\), but 'layer_with_weights-1/kernel.*has \[3, 4\]"):
        model.load_weights(str(tmp_path / "wide"))
    with pytest.raises(NotImplementedError, match="by_name=True"):
        model.load_weights(str(tmp_path / "wide"), by_name=True)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable([1.0], name="other")
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "other"))
    with pytest.raises(ValueError, match="has no variable of the model 'small', such as first"):
        model.load_weights(str(tmp_path / "other"))


def test_a_spoilt_object_graph(tmp_path):
    model = small()
    for end in ("index", "data-00000-of-00001"):
        shutil.copy(FOLDER / f"stack.{end}", tmp_path / f"w.{end}")
    with pytest.raises(ValueError, match=r"has shape \(3, 3\), but .* has \[3, 4\]"):
        model.load_weights(str(tmp_path / "w"))


def test_without_h5py(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="pip install h5py"):
        small().save(tmp_path / "m.h5")
    small().save_weights(str(tmp_path / "w"))


# ---- what the names of attributes and layers decide


def test_recurrent_layers_are_in_checkpoints(tmp_path):
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        layers.LSTM(2, return_sequences=True, input_shape=(3, 4)), layers.Bidirectional(layers.GRU(2))
    ])  # fmt: skip
    weights = [w + 1.0 for w in model.get_weights()]
    model.set_weights(weights)
    model.save_weights(str(tmp_path / "weights"))
    model.set_weights([0.0 * w for w in weights])
    model.load_weights(str(tmp_path / "weights"))
    for one, other in zip(weights, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_functions_of_two_lambda_layers(tmp_path):
    model = tf.keras.Sequential([
        tf.keras.layers.Lambda(lambda t: t * 2, input_shape=(4,), name="twice"),
        tf.keras.layers.Lambda(lambda t: t + 1, name="more"),
    ])  # fmt: skip
    model.save(str(tmp_path / "model.h5"))
    with pytest.raises(ValueError, match="custom_objects={'twice': function}"):
        tf.keras.models.load_model(str(tmp_path / "model.h5"))
    functions = {"twice": lambda t: t * 2, "more": lambda t: t + 1}
    again = tf.keras.models.load_model(str(tmp_path / "model.h5"), custom_objects=functions)
    np.testing.assert_array_equal(again.predict(np.ones([1, 4])), np.full([1, 4], 3.0))


# ---- other versions of Keras


def test_spellings_of_later_versions():
    config = {
        "class_name": "InputLayer",
        "config": {"name": "x", "optional": False, "ragged": False, "sparse": False},
        "list": [{"class_name": "L2", "config": {"l2": 0.5}}, {"class_name": "L2", "config": {"other": 1}}, 3],
    }
    assert as_before(config) == {
        "class_name": "InputLayer",
        "config": {"name": "x", "sparse": False},
        "list": [{"class_name": "L1L2", "config": {"l2": 0.5}}, {"class_name": "L2", "config": {"other": 1}}, 3],
    }
    assert as_before({"class_name": "Conv2D", "config": {"groups": 2}})["config"] == {"groups": 2}
