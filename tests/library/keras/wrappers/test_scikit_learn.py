"""Models as estimators: which argument goes where, classes of any kind, scores."""

import numpy as np
import pytest

import headrace as tf

learn = tf.keras.wrappers.scikit_learn
X = np.random.RandomState(0).randn(60, 2).astype(np.float32)


@pytest.fixture(autouse=True)
def clear():
    yield
    tf.keras.backend.clear_session()


def classifier(units=3, loss="sparse_categorical_crossentropy", metrics=("accuracy",)):
    activation = "sigmoid" if units == 1 else "softmax"
    model = tf.keras.Sequential([tf.keras.layers.Dense(units, activation, input_shape=(2,))])
    model.compile(tf.train.AdamOptimizer(0.2), loss, metrics=list(metrics))
    return model


@pytest.mark.parametrize("loss", ["sparse_categorical_crossentropy", "categorical_crossentropy"])
def test_a_classifier(loss):
    names = np.array(["low", "middle", "top"])
    y = names[np.digitize(X[:, 0], [-0.5, 0.5])]
    made = learn.KerasClassifier(classifier, loss=loss, epochs=15, batch_size=20, verbose=0)
    history = made.fit(X, y)
    assert len(history.history["loss"]) == 15 and made.classes_.tolist() == sorted(names) and made.n_classes_ == 3
    assert set(made.predict(X)) <= set(names)
    np.testing.assert_allclose(made.predict_proba(X).sum(1), 1, rtol=1e-5)
    right = (made.predict(X) == y).mean()
    np.testing.assert_allclose(made.score(X, y), right, rtol=1e-5)
    assert right > 0.7


def test_two_classes_with_one_output():
    y = (X[:, 1] > 0).astype(int)
    made = learn.KerasClassifier(classifier, units=1, loss="binary_crossentropy", verbose=0)
    made.fit(X, y, epochs=1)
    proba = made.predict_proba(X)
    assert proba.shape == (60, 2) and made.predict(X).shape == (60, 1)
    np.testing.assert_array_equal(made.predict(X)[:, 0], (proba[:, 1] > 0.5).astype(int))


def test_rows_as_targets_and_no_accuracy():
    y = np.eye(3)[np.arange(60) % 3]
    made = learn.KerasClassifier(classifier, loss="categorical_crossentropy", metrics=(), verbose=0)
    made.fit(X, y)
    assert made.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="not configured to compute accuracy"):
        made.score(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match=r"got shape \(1, 1, 1\)"):
        made.fit(X[:1], np.zeros([1, 1, 1]))


def test_a_regressor_with_a_class_that_builds():
    class Linear(learn.KerasRegressor):
        def __call__(self, rate=0.1):
            model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
            model.compile(tf.train.GradientDescentOptimizer(rate), "mse")
            return model

    made = Linear(rate=0.2, epochs=20, verbose=0)
    y = X @ [1.0, -2.0] + 0.5
    made.fit(X, y)
    assert made.predict(X).shape == (60,) and -0.05 < made.score(X, y) <= 0
    np.testing.assert_allclose(-made.score(X, y), np.mean((made.predict(X) - y) ** 2), rtol=1e-3, atol=1e-7)


def test_parameters():
    made = learn.KerasClassifier(classifier, units=4, epochs=2)
    assert made.get_params(deep=True) == {"units": 4, "epochs": 2, "build_fn": classifier}
    assert made.set_params(units=5).get_params()["units"] == 5
    assert made.filter_sk_params(classifier, {"loss": "mse"}) == {"units": 5, "loss": "mse"}
    copied = learn.KerasClassifier(**made.get_params())
    assert copied.get_params() == made.get_params()
    with pytest.raises(ValueError, match="width is not a legal parameter"):
        learn.KerasClassifier(classifier, width=3)
    with pytest.raises(ValueError, match="depth is not a legal parameter"):
        made.set_params(depth=3)
