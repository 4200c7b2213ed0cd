"""Programs that build models with tf.keras, and the facts about them: names, tables, configurations, what is trained.

Each takes ``tf`` and ``keras`` of either system, and gives plain data.
"""

import json


def facts(model):
    """All that is compared of a model."""
    lines = []
    model.summary(print_fn=lines.append)
    return {
        "summary": lines,
        "weights": [w.name for w in model.weights],
        "trainable": [w.name for w in model.trainable_weights],
        "fixed": [w.name for w in model.non_trainable_weights],
        "layers": [layer.name for layer in model.layers],
        "inputs": [t.name for t in model.inputs or []],
        "outputs": [t.name for t in model.outputs or []],
        "output_names": model.output_names,
        "losses": len(model.losses),
        "updates": len(model.updates),
    }


def config(model):
    return json.loads(model.to_json())["config"]


def dense_stack(tf, keras):
    model = keras.Sequential([keras.layers.Dense(4, input_shape=(3,), activation="relu"), keras.layers.Dense(2)])
    return {**facts(model), "config": config(model), "shape": list(model.output_shape)}


def stack_with_input_layer(tf, keras):
    model = keras.Sequential(name="named")
    model.add(keras.layers.InputLayer(input_shape=(8, 8, 3), name="image"))
    model.add(keras.layers.Conv2D(4, 3, activation="relu"))
    model.add(keras.layers.BatchNormalization())
    model.add(keras.layers.Flatten())
    model.add(keras.layers.Dropout(0.5))
    model.add(keras.layers.Dense(10, activation="softmax"))
    return {**facts(model), "config": config(model)}


def deferred_stack(tf, keras):
    model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(2, name="last")])
    before = [model.built, len(model.layers)]
    model.build((None, 3))
    return {**facts(model), "before": before}


def two_ends(tf, keras):
    a, b = keras.Input((4,), name="a"), keras.Input((3,))
    shared = keras.layers.Dense(5, name="shared")
    left, right = shared(a), shared(keras.layers.Dense(4)(b))
    joined = keras.layers.concatenate([left, right])
    model = keras.Model([a, b], [keras.layers.Dense(1, name="out")(joined), left])
    return {**facts(model), "config": config(model), "shapes": [list(s) for s in model.output_shape]}


def nested(tf, keras):
    inner = keras.Sequential([keras.layers.Dense(4, input_shape=(3,)), keras.layers.BatchNormalization()])
    x, y = keras.Input((3,)), keras.Input((3,))
    both = keras.layers.Add()([inner(x), inner(y)])
    model = keras.Model([x, y], keras.layers.Dense(1)(both))
    first = facts(model)
    inner.trainable = False
    frozen = facts(model)
    for one in (first, frozen):  # later versions count the calls of a model from 0, and all updates of its layers
        del one["summary"], one["updates"]
    return {**first, "config": config(model), "frozen": frozen, "inner_input": inner.input.name}


def nested_functional(tf, keras):
    x = keras.Input((3,))
    encoder = keras.Model(
        x, keras.layers.Dense(2, kernel_regularizer=keras.regularizers.l1_l2(0.5, 0.25))(x), name="encoder"
    )
    z = keras.Input((2,))
    decoder = keras.Model(z, keras.layers.Dense(3)(z), name="decoder")
    model = keras.Model(x, decoder(encoder(x)), name="auto")
    outer = keras.Input((3,))
    whole = keras.Model(outer, model(outer))
    return {"auto": {**facts(model), "config": config(model)}, "whole": {**facts(whole), "config": config(whole)}}


def ops_between(tf, keras):
    x = keras.Input((4,))
    h = keras.layers.Dense(4)(x)
    y = tf.nn.relu(h * 2.0 + x) - 1.0
    y = tf.concat([y, h], axis=-1)
    y = tf.reshape(y, [-1, 2, 4])
    model = keras.Model(x, keras.layers.Dense(2)(y))
    return {**facts(model), "layers": [type(layer).__name__ for layer in model.layers]}


def lambda_and_masks(tf, keras):
    ids = keras.Input((5,), dtype="int32")
    embedded = keras.layers.Embedding(10, 4, mask_zero=True)(ids)
    doubled = keras.layers.Lambda(lambda t: t * 2.0, name="double")(embedded)
    dropped = keras.layers.Dropout(0.1)(embedded)
    masked = keras.layers.Masking(0.5)(keras.Input((5, 3)))
    return {
        "masks": [getattr(t, "_keras_mask", None) is not None for t in (embedded, doubled, dropped, masked)],
        "names": [t.name for t in (embedded, doubled, dropped, masked)],
        "summary": facts(keras.Model(ids, [doubled, dropped])),
    }


def freezing(tf, keras):
    model = keras.Sequential([
        keras.layers.Dense(4, input_shape=(3,)), keras.layers.BatchNormalization(), keras.layers.Dense(2)
    ])  # fmt: skip
    counts = [len(model.trainable_weights)]
    model.layers[0].trainable = False
    counts.append(len(model.trainable_weights))
    model.trainable = False
    counts += [len(model.trainable_weights), len(model.non_trainable_weights), len(model.updates)]
    model.trainable = True
    return [*counts, len(model.trainable_weights), [w.name for w in model.weights]]


def subclassed(tf, keras):
    class Block(keras.layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.units = units
            self.parts = [keras.layers.Dense(units), keras.layers.Dense(units, name="named")]

        def build(self, input_shape):
            self.scale = self.add_weight("scale", shape=[self.units], initializer="ones")
            super().build(input_shape)

        def call(self, inputs):
            for part in self.parts:
                inputs = part(inputs)
            return inputs * self.scale

    class TwoBlocks(keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = {"a": Block(3), "b": Block(2)}
            self.head = keras.layers.Dense(1)

        def call(self, inputs, training=None):
            return self.head(self.blocks["b"](self.blocks["a"](inputs)))

    model = TwoBlocks()
    y = model(tf.zeros([2, 4]))
    lines = []
    model.summary(print_fn=lines.append)
    return [y.name, [w.name for w in model.weights], [layer.name for layer in model.layers], lines]


def names_in_scopes(tf, keras):
    dense = keras.layers.Dense(2)
    with tf.name_scope("tower"):
        a = keras.layers.Dense(3)(tf.zeros([1, 2]))
        b = dense(a)
    c = dense(b + 1.0 if False else tf.zeros([1, 3]))
    with tf.variable_scope("vars"):
        d = keras.layers.Dense(3)(tf.zeros([1, 2]))
    return [[t.name for t in (a, b, c, d)], [v.name for v in tf.global_variables()]]


def names_of_layers(tf, keras):
    class HTTPLayer2D(keras.layers.Layer):
        pass

    class _Hidden(keras.layers.Layer):
        pass

    made = [HTTPLayer2D(), _Hidden(), keras.layers.Dense(1), keras.layers.Dense(1), keras.layers.Conv2DTranspose(1, 1)]
    with tf.Graph().as_default():
        made.append(keras.layers.Dense(1))
    made.append(keras.layers.Dense(1))
    return [layer.name for layer in made]


def added_to_model(tf, keras):
    x = keras.Input((3,))
    h = keras.layers.Dense(4, activity_regularizer="l1")(x)
    model = keras.Model(x, keras.layers.Dense(1)(h))
    model.add_loss(tf.reduce_sum(h))
    return [len(model.losses), [layer.name for layer in model.layers], len(model.get_losses_for(None))]


def calls_of_layers(tf, keras):
    dense = keras.layers.Dense(2)
    x, y = keras.Input((3,)), keras.Input((3,))
    outputs = [dense(x), dense(y)]
    nodes = [dense.get_input_at(1) is y, dense.get_output_at(0) is outputs[0], list(dense.get_output_shape_at(1))]
    model = keras.Model([x, y], outputs)
    return [
        nodes, len(dense._inbound_nodes), len(dense._outbound_nodes), list(dense.input_shape), model.output_names,
        [t.name for t in model([tf.zeros([1, 3]), tf.zeros([1, 3])])], len(dense._inbound_nodes),
    ]  # fmt: skip


def cloned(tf, keras):
    x = keras.Input((3,))
    model = keras.Model(x, keras.layers.Dense(2)(keras.layers.Dense(4)(x)))
    copy = keras.models.clone_model(model)
    stack = keras.models.clone_model(keras.Sequential([keras.layers.Dense(2, input_shape=(3,))]))
    again = keras.Model.from_config(model.get_config())
    return [facts(copy), facts(stack), facts(again)]


def dictionaries(tf, keras):
    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    outputs = {"sum": keras.layers.add([a, b]), "first": keras.layers.Dense(1, name="first")(a)}
    model = keras.Model({"a": a, "b": b}, outputs)
    made = model({"a": tf.zeros([1, 2]), "b": tf.zeros([1, 2])})
    return [facts(model), sorted(made)]


def _error(attempt):
    try:
        attempt()
    except Exception as error:
        return type(error).__name__
    return "none"


def mistakes(tf, keras):
    x, y = keras.Input((3,)), keras.Input((3,))
    layer = keras.layers.Dense(1, name="same")

    class NoInit(keras.Model):
        def __init__(self):
            self.dense = keras.layers.Dense(1)

    class NoConfig(keras.layers.Layer):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)

    stack = keras.Sequential([keras.layers.Dense(1, name="same")])
    out = layer(x)
    return [
        _error(lambda: keras.Model(x, keras.layers.add([out, y]))),
        _error(lambda: keras.Model([x, x], out)),
        _error(lambda: keras.Model(tf.zeros([1]), out)),
        _error(lambda: keras.Model(x, keras.layers.Dense(1, name="same")(out))),
        _error(lambda: keras.Model(x, out).get_layer("other")),
        _error(lambda: keras.Model(x, out).get_layer(index=7)),
        _error(lambda: keras.Model(x, out).set_weights([1.0])),
        _error(lambda: stack.add(keras.layers.Dense(1, name="same"))),
        _error(lambda: stack.add(3)),
        _error(lambda: keras.Sequential().pop()),
        _error(lambda: keras.layers.Dense(1).count_params()),
        _error(lambda: keras.layers.Dense(1).output),
        _error(lambda: keras.layers.Dense(1).output_shape),
        _error(lambda: keras.layers.Dense(1).get_output_at(0)),
        _error(lambda: keras.layers.Layer(units=3)),
        _error(lambda: keras.layers.Dense(1)(tf.zeros([3]))),
        _error(lambda: NoInit()),
        _error(lambda: NoConfig(3).get_config()),
        _error(lambda: keras.Input()),
        _error(lambda: keras.Input((1,), batch_shape=(1, 1))),
        _error(lambda: keras.models.model_from_json('{"class_name": "Nothing", "config": {}}')),
        _error(lambda: keras.models.model_from_config([])),
        _error(lambda: keras.Sequential([keras.layers.Dense(1)]).summary()),
        _error(lambda: keras.layers.Layer().add_weight("w", shape=[1], nonsense=1)),
    ]


CASES = {
    name: value for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and name not in ("facts", "config")
}  # fmt: skip
