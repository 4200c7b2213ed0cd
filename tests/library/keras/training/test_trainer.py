"""compile, fit, evaluate and predict: kinds of models and data, mistakes."""

from collections.abc import Iterator

import numpy as np
import pytest

import headrace as tf

keras = tf.keras
X = np.random.RandomState(0).randn(32, 3).astype(np.float32)
NUMBERS = (X.sum(1) > 0).astype(np.int64)


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    keras.backend.clear_session()
    yield
    keras.backend.clear_session()


def classifier(loss: str = "sparse_categorical_crossentropy"):
    model = keras.Sequential([keras.layers.Dense(3, activation="softmax", input_shape=(3,), name="out")])
    model.compile("sgd", loss)
    return model


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(4, activation="relu", kernel_regularizer="l2")
        self.normal = keras.layers.BatchNormalization()
        self.last = keras.layers.Dense(2)

    def call(self, inputs, training=None):
        return self.last(self.normal(self.first(inputs), training=training))


def own_model_learns() -> None:
    model = Own()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.1), loss, metrics=["accuracy"])
    history = model.fit(X, NUMBERS, epochs=8, verbose=0, validation_data=(X, NUMBERS))
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert sorted(history.history) == ["acc", "loss", "val_acc", "val_loss"]
    assert model.predict(X).shape == (32, 2)


def test_a_class_of_layers() -> None:
    own_model_learns()


def test_a_class_of_layers_eagerly() -> None:
    with tf.eager_mode():
        own_model_learns()


def test_run_eagerly_sees_values() -> None:
    seen = []

    class Seeing(keras.layers.Layer):
        def call(self, inputs):
            seen.append(float(tf.reduce_sum(inputs)))
            return inputs

    with tf.eager_mode():
        model = keras.Sequential([Seeing(), keras.layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=True)
        model.fit(np.ones([4, 2], np.float32), np.ones([4, 1]), epochs=2, verbose=0)
    assert seen.count(8.0) == 2


class Batches(keras.utils.Sequence):
    ends = 0

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return X[index * 8 : index * 8 + 8], NUMBERS[index * 8 : index * 8 + 8]

    def on_epoch_end(self):
        self.ends += 1


@pytest.mark.parametrize("workers", [0, 2])
def test_sequences(workers: int) -> None:
    model = classifier()
    before = model.evaluate(X, NUMBERS, verbose=0)
    assert model.evaluate(Batches(), verbose=0, workers=workers) == pytest.approx(before, rel=1e-5)
    history = model.fit(Batches(), epochs=2, verbose=0, workers=workers)
    assert len(history.history["loss"]) == 2
    np.testing.assert_allclose(model.predict(Batches(), workers=workers), model.predict(X), rtol=1e-5)


def test_tensors_and_one_shot_iterators() -> None:
    model = classifier()
    wanted = model.evaluate(X, NUMBERS, verbose=0)
    given = tf.constant(X), tf.constant(NUMBERS)
    assert model.evaluate(*given, verbose=0, steps=1) == pytest.approx(wanted, rel=1e-5)
    iterator = tf.data.Dataset.from_tensor_slices((X, NUMBERS)).batch(8).make_one_shot_iterator()
    assert model.evaluate(iterator, verbose=0, steps=4) == pytest.approx(wanted, rel=1e-5)
    with pytest.raises(ValueError, match="you should specify `steps_per_epoch`"):
        model.fit(*given)


def test_target_tensors() -> None:
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,), kernel_initializer="zeros")])
    model.compile("sgd", "mse", target_tensors=[tf.ones([4, 1])])
    assert model.train_on_batch(X[:4]) == 1.0


def test_masks_leave_steps_out() -> None:
    x = np.zeros([2, 3, 1], np.float32)
    x[:, :2] = 1.0
    model = keras.Sequential(
        [keras.layers.Masking(input_shape=(3, 1)), keras.layers.Dense(1, kernel_initializer="zeros")]
    )
    model.compile("sgd", "mse", metrics=["mae"], sample_weight_mode="temporal")
    loss, error = model.evaluate(x, np.ones([2, 3, 1]), verbose=0, sample_weight=np.full([2, 3], 3.0))
    assert (loss, error) == (2.0, 1.0)  # two of three steps, each of weight three; the metric does not count weights


def test_an_output_without_a_loss() -> None:
    x = keras.Input((3,))
    outputs = [keras.layers.Dense(1, name="a", kernel_initializer="zeros")(x), keras.layers.Dense(2, name="b")(x)]
    model = keras.Model(x, outputs)
    model.compile("sgd", {"a": "mse"})
    assert model.metrics_names == ["loss"]
    assert model.test_on_batch(X, {"a": np.ones([32, 1])}) == 1.0


def test_frozen_layers_keep_their_weights() -> None:
    model = keras.Sequential([keras.layers.Dense(4, input_shape=(3,)), keras.layers.Dense(1)])
    model.layers[0].trainable = False
    model.compile("sgd", "mse")
    before = model.get_weights()
    model.fit(X, X[:, :1], verbose=0)
    after = model.get_weights()
    assert (before[0] == after[0]).all()
    assert (before[2] != after[2]).any()


def test_validation_frequency_and_first_epoch() -> None:
    model = classifier()
    history = model.fit(
        X, NUMBERS, epochs=5, initial_epoch=1, verbose=0, validation_data=(X, NUMBERS), validation_freq=2
    )
    assert history.epoch == [1, 2, 3, 4]
    assert len(history.history["val_loss"]) == 2


def test_a_session_of_the_users() -> None:
    with tf.Session() as session:
        model = classifier()
        model.fit(X, NUMBERS, verbose=0)
        assert session.run(model.layers[0].kernel).shape == (3, 3)


def test_mistakes_of_compile() -> None:
    model = classifier()
    for arguments, message in [
        ({"loss": "nope"}, "Unknown loss function: nope"),
        ({"loss": "mse", "metrics": ["nope"]}, "Unknown metric function: nope"),
        ({"optimizer": "nope", "loss": "mse"}, "Unknown optimizer: nope"),
        (
            {"loss": {"z": "mse"}},
            r"Unknown entries in loss dictionary: \['z'\]. Only expected following keys: \['out'\]",
        ),
        ({"loss": ["mse", "mse"]}, "The model has 1 outputs"),
        ({"loss": "mse", "sample_weight_mode": "weekly"}, "Invalid sample_weight_mode 'weekly'"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.compile(**arguments)
    with pytest.raises(TypeError, match="Invalid keyword argument in `compile`: 'los'"):
        model.compile(los="mse")


def test_mistakes_of_fit() -> None:
    with pytest.raises(RuntimeError, match="You must compile your model before training"):
        keras.Sequential([keras.layers.Dense(1, input_shape=(3,))]).fit(X, X[:, :1])
    model = classifier()
    for x, y, options, message in [
        (X[:, :2], NUMBERS, {}, r"expected out_input to have shape \(3,\) but got array with shape \(2,\)"),
        (X[:, :, None], NUMBERS, {}, "expected out_input to have 2 dimensions"),
        ([X, X], NUMBERS, {}, r"Expected to see 1 array\(s\), for \['out_input'\], but instead got 2"),
        (X, NUMBERS[:5], {}, "Found 32 input samples and 5 target samples"),
        (X, None, {}, r"The model is trained on \['out'\]: `y` must be given"),
        (X, NUMBERS, {"sample_weight": np.ones(3)}, "Found 32 input samples and 3 sample weight samples"),
        (X, NUMBERS, {"sample_weight": np.ones([32, 2])}, 'compile with sample_weight_mode="temporal"'),
        (X, NUMBERS, {"class_weight": {0: 1.0}}, r"The classes \[1\] exist in the data but not in `class_weight`"),
        (X, NUMBERS, {"validation_data": 3}, "When passing a `validation_data` argument"),
        (X, NUMBERS, {"validation_split": 1.5}, "validation_split must be between 0 and 1"),
        (iter([(X, NUMBERS)]), NUMBERS, {}, "`y` argument is not supported"),
        (iter([(X, NUMBERS)]), None, {}, "you should specify `steps_per_epoch`"),
        (iter([X]), None, {"steps_per_epoch": 1}, r"should be a tuple `\(x, y, sample_weight\)` or `\(x, y\)`"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(x, y, verbose=0, **options)
    with pytest.raises(TypeError, match="Unrecognized keyword argument of `fit`: 'nb_epoch'"):
        model.fit(X, NUMBERS, nb_epoch=3)
    with pytest.raises(ValueError, match="use the loss `sparse_categorical_crossentropy`"):
        classifier("categorical_crossentropy").fit(X, NUMBERS)
    with pytest.raises(ValueError, match=r"A target array with shape \(32, 4\) was passed for an output"):
        classifier("categorical_crossentropy").fit(X, np.ones([32, 4]))


@pytest.mark.parametrize("size", [-4, 0])
def test_a_batch_has_samples(size):
    with pytest.raises(ValueError, match=f"`batch_size` must be at least 1, got {size}"):
        classifier().fit(X, NUMBERS, batch_size=size, verbose=0)
    with pytest.raises(ValueError, match="`batch_size` must be at least 1"):
        classifier().predict(X, batch_size=size)


def test_data_have_samples():
    with pytest.raises(ValueError, match="`x` has no samples"):
        classifier().fit(X[:0], NUMBERS[:0], verbose=0)


def test_a_dataset_without_end_needs_a_number_of_steps():
    dataset = tf.data.Dataset.from_tensor_slices((X, NUMBERS)).batch(8).repeat()
    with pytest.raises(ValueError, match="repeats without end, you must specify `steps_per_epoch`"):
        classifier().fit(dataset, verbose=0)
    assert len(classifier().fit(dataset, steps_per_epoch=2, verbose=0).history["loss"]) == 1


def test_a_prediction_before_the_first_training_step():
    model = Own()
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.predict(X)
    assert model.train_on_batch(X, NUMBERS) > 0


def test_a_layer_under_a_name_of_the_class_is_found():
    class WithDefault(keras.Model):
        inner = None

        def __init__(self):
            super().__init__()
            self.inner = keras.layers.Dense(2)

    model = WithDefault()
    model.inner.build([None, 3])
    assert len(model.weights) == 2


def test_variables_that_are_no_resources():
    layer = tf.layers.Dense(3, name="scoped")
    model = keras.Sequential([keras.layers.InputLayer((3,)), layer, keras.layers.Softmax()])
    for optimizer in ("adam", "adagrad", "sgd"):
        model.compile(optimizer, "sparse_categorical_crossentropy")
        before = model.get_weights()[0]
        model.fit(X, NUMBERS, verbose=0)
        assert not np.array_equal(before, model.get_weights()[0]), optimizer


def test_labels_are_numbers():
    with pytest.raises(ValueError, match="the labels of out are texts, such as 'a': give numbers"):
        classifier().fit(X, np.array(["a", "b"] * 16), verbose=0)


def test_one_sample_without_a_batch_axis():
    with pytest.raises(ValueError, match=r"got array with shape \(3,\), which is one sample without a batch axis"):
        classifier().predict(X[0])
