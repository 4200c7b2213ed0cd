"""Small trainings with tf.keras, run by real Keras (make_keras_training.py) and by Headrace: the same figures.

Each case takes (tf, keras), trains a model with given first weights, and gives plain data.
"""

import numpy as np

_STATE = np.random.RandomState(1)
X = _STATE.randn(50, 4).astype(np.float32)
Y = _STATE.randn(50, 1).astype(np.float32)
NUMBERS = _STATE.randint(0, 3, 50)
ONE_HOT = np.eye(3, dtype=np.float32)[NUMBERS]
BITS = _STATE.randint(0, 2, (50, 1)).astype(np.float32)
WEIGHTS = _STATE.rand(50).astype(np.float32)
MORE = _STATE.randn(50, 2).astype(np.float32)
IMAGES = _STATE.randn(30, 8, 8, 2).astype(np.float32)
FIT = {"epochs": 3, "batch_size": 16, "verbose": 0, "shuffle": False}
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def begin(model):
    """Gives the model weights that do not depend on random numbers of either system."""
    weights = []
    for i, w in enumerate(model.get_weights()):
        drawn = np.random.RandomState(i).randn(*w.shape).astype(np.float32) * 0.3
        weights.append(drawn if w.ndim > 1 else w)
    model.set_weights(weights)
    return model


def figures(history):
    return {name: [float(v) for v in values] for name, values in history.history.items()}


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if isinstance(value, (str, dict)) else np.asarray(value, float).tolist()


def mlp(keras, out=3, activation="softmax", **options):
    layers = [keras.layers.Dense(6, activation="relu", input_shape=(4,))]
    return begin(keras.Sequential([*layers, keras.layers.Dense(out, activation=activation, **options)]))


@case
def sparse_labels(tf, keras):
    model = mlp(keras)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy", "crossentropy"])
    history = model.fit(X, NUMBERS, validation_split=0.2, **FIT)
    evaluated = model.evaluate(X, NUMBERS, verbose=0, batch_size=7)
    return plain([figures(history), evaluated, model.predict(X[:5]), list(model.metrics_names)])


@case
def one_hot_labels_with_weights(tf, keras):
    model = mlp(keras)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)
    loss = keras.losses.CategoricalCrossentropy(label_smoothing=0.1)
    metrics = ["acc", keras.metrics.Precision(name="precision"), "mse"]
    model.compile(optimizer, loss, metrics=metrics, weighted_metrics=["acc"])
    validation = X[:20], ONE_HOT[:20], WEIGHTS[:20]
    history = model.fit(X, ONE_HOT, sample_weight=WEIGHTS, validation_data=validation, **FIT)
    tested = model.test_on_batch(X[:8], ONE_HOT[:8], sample_weight=WEIGHTS[:8])
    return plain([figures(history), model.train_on_batch(X[:8], ONE_HOT[:8]), tested])


@case
def class_weights(tf, keras):
    model = mlp(keras, 1, "sigmoid", kernel_regularizer=keras.regularizers.l2(0.1))
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(name="auc")])
    history = model.fit(X, BITS, class_weight={0: 1.0, 1: 3.0}, **FIT)
    return plain([figures(history), model.evaluate(X, BITS, verbose=0)])


@case
def two_outputs(tf, keras):
    a, b = keras.Input((4,), name="a"), keras.Input((2,), name="b")
    joined = keras.layers.Concatenate()([keras.layers.Dense(5, activation="tanh")(a), b])
    outputs = [
        keras.layers.Dense(3, activation="softmax", name="cls")(joined), keras.layers.Dense(1, name="reg")(joined)
    ]  # fmt: skip
    model = begin(keras.Model([a, b], outputs))
    model.compile(
        "sgd", {"cls": "categorical_crossentropy", "reg": "mse"}, metrics={"cls": ["acc"], "reg": ["mae", "mse"]},
        loss_weights={"cls": 1.0, "reg": 0.3},
    )  # fmt: skip
    validation = [X[:9], MORE[:9]], [ONE_HOT[:9], Y[:9]]
    history = model.fit({"a": X, "b": MORE}, {"cls": ONE_HOT, "reg": Y}, validation_data=validation, **FIT)
    evaluated = model.evaluate([X, MORE], [ONE_HOT, Y], verbose=0, batch_size=50)
    return plain([figures(history), evaluated, model.predict([X[:3], MORE[:3]]), list(model.metrics_names)])


@case
def batch_normalization(tf, keras):
    layers = [
        keras.layers.Dense(6, input_shape=(4,)), keras.layers.BatchNormalization(), keras.layers.Activation("relu"),
        keras.layers.Dense(1),
    ]  # fmt: skip
    model = begin(keras.Sequential(layers))
    model.compile(keras.optimizers.SGD(0.05, decay=0.1), "mae")
    return plain([figures(model.fit(X, Y, validation_split=0.3, **FIT)), model.predict(X[:4])])


@case
def images(tf, keras):
    layers = [
        keras.layers.Conv2D(3, 3, activation="relu", input_shape=(8, 8, 2)), keras.layers.MaxPooling2D(2),
        keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax"),
    ]  # fmt: skip
    model = begin(keras.Sequential(layers))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return plain([figures(model.fit(IMAGES, NUMBERS[:30], **FIT))])


@case
def added_losses_and_metrics(tf, keras):
    a = keras.Input((4,))
    hidden = keras.layers.Dense(5, activation="relu", activity_regularizer=keras.regularizers.l2(0.1))(a)
    output = keras.layers.Dense(1)(hidden)
    model = keras.Model(a, output)
    model.add_loss(tf.reduce_mean(hidden) * 0.5)
    model.add_metric(tf.reduce_mean(output), name="mean_output", aggregation="mean")
    begin(model).compile("sgd", "mse")
    return plain([figures(model.fit(X, Y, **FIT)), list(model.metrics_names)])


@case
def optimizer_of_tf_train(tf, keras):
    model = mlp(keras)
    model.compile(tf.train.AdamOptimizer(0.01), "sparse_categorical_crossentropy", metrics=["acc"])
    return plain([figures(model.fit(X, NUMBERS, **FIT))])


@case
def generator(tf, keras):
    def batches():
        while True:
            for i in range(0, 48, 16):
                yield X[i : i + 16], NUMBERS[i : i + 16]

    model = mlp(keras)
    model.compile("nadam", "sparse_categorical_crossentropy", metrics=["acc"])
    history = model.fit_generator(batches(), steps_per_epoch=3, epochs=2, verbose=0)
    return plain([figures(history), model.evaluate_generator(batches(), steps=3)])


@case
def dataset(tf, keras):
    model = mlp(keras)
    model.compile("adamax", "sparse_categorical_crossentropy", metrics=["acc"])
    batches = tf.data.Dataset.from_tensor_slices((X, NUMBERS)).batch(16)
    history = model.fit(batches.repeat(), steps_per_epoch=3, epochs=2, verbose=0)
    return plain([figures(history), model.evaluate(batches, verbose=0, steps=4)])


@case
def shuffled(tf, keras):
    np.random.seed(3)
    model = mlp(keras)
    model.compile("sgd", "sparse_categorical_crossentropy")
    return plain([figures(model.fit(X, NUMBERS, epochs=3, batch_size=16, verbose=0))])


@case
def callbacks(tf, keras):
    model = mlp(keras)
    model.compile(keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy")
    told = [
        keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5),
    ]
    options = {**FIT, "epochs": 12}
    return plain(
        [figures(model.fit(X, NUMBERS, validation_split=0.4, callbacks=told, **options)), model.predict(X[:3])]
    )


@case
def schedule(tf, keras):
    model = mlp(keras)
    rate = keras.optimizers.schedules.ExponentialDecay(0.5, 2, 0.5)
    model.compile(keras.optimizers.SGD(rate), "sparse_categorical_crossentropy")
    return plain([figures(model.fit(X, NUMBERS, **FIT))])


@case
def rate_by_epoch(tf, keras):
    model = mlp(keras)
    model.compile(keras.optimizers.Adam(0.1), "sparse_categorical_crossentropy")
    halve = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    return plain([figures(model.fit(X, NUMBERS, callbacks=[halve], **FIT))])
