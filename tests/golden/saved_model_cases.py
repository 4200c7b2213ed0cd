"""The models in tests/golden/saved_models, written for TensorFlow and for Headrace: ``tf`` is either system.

Each builds nodes in the default graph and gives its signatures by name: inputs and outputs by name.
"""

import numpy as np

WORDS = ("a", "dataflow", "graph", "headrace", "of", "water")


def weights(shape, seed):
    return (np.random.RandomState(seed).rand(*shape) - 0.5).astype(np.float32)


def variable(tf, name, shape, seed, use_resource=False):
    return tf.get_variable(name, initializer=weights(shape, seed), use_resource=use_resource)


def mlp(tf):
    """Two layers, one of resource variables, with the nodes that trained them."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    hidden = tf.nn.relu(tf.matmul(x, variable(tf, "w1", [4, 5], 1)) + variable(tf, "b1", [5], 2))
    logits = tf.matmul(hidden, variable(tf, "w2", [5, 3], 3, True)) + variable(tf, "b2", [3], 4, True)
    probabilities = tf.nn.softmax(logits, name="probabilities")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name="loss")
    step = tf.train.get_or_create_global_step()
    tf.train.AdamOptimizer(0.01).minimize(loss, step, name="train")
    return {"serving_default": ({"x": x}, {"probabilities": probabilities})}


def lenet(tf):
    """Two convolutions, two poolings, dropout that is off by default, a dense layer."""
    image = tf.placeholder(tf.float32, [None, 12, 12, 1], name="image")
    keep = tf.placeholder_with_default(1.0, [], name="keep")
    with tf.variable_scope("conv1"):
        x = tf.nn.conv2d(image, variable(tf, "kernel", [3, 3, 1, 4], 5), strides=[1, 1, 1, 1], padding="SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, variable(tf, "bias", [4], 6)))
        x = tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    with tf.variable_scope("conv2"):
        x = tf.nn.conv2d(x, variable(tf, "kernel", [3, 3, 4, 6], 7), strides=[1, 1, 1, 1], padding="VALID")
        x = tf.nn.relu(tf.nn.bias_add(x, variable(tf, "bias", [6], 8)))
        x = tf.nn.avg_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    with tf.variable_scope("dense"):
        x = tf.nn.dropout(tf.reshape(x, [-1, 24]), keep_prob=keep)
        logits = tf.matmul(x, variable(tf, "kernel", [24, 10], 9), name="logits")
    scores = tf.nn.softmax(logits, name="scores")
    digit = tf.argmax(logits, 1, name="digit")
    return {"serving_default": ({"image": image}, {"scores": scores, "digit": digit})}


def lstm(tf, cells):
    """A dynamic network (a while loop with tensor arrays) and a conditional."""
    sequence = tf.placeholder(tf.float32, [None, None, 3], name="sequence")
    length = tf.placeholder(tf.int32, [None], name="length")
    double = tf.placeholder_with_default(False, [], name="double")
    with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.1)):
        cell = cells.LSTMCell(4)
        outputs, state = tf.nn.dynamic_rnn(cell, sequence, sequence_length=length, dtype=tf.float32)
    last = tf.matmul(state[1], variable(tf, "projection", [4, 2], 10))
    chosen = tf.cond(double, lambda: 2 * last, lambda: last)
    return {
        "serving_default": (
            {"sequence": sequence, "length": length, "double": double},
            {"outputs": tf.identity(outputs, "outputs"), "chosen": tf.identity(chosen, "chosen")},
        )
    }


def text(tf, vocabulary):
    """Sentences -> words -> numbers by a table that is read from a file -> the mean of their vectors; and back."""
    sentences = tf.placeholder(tf.string, [None], name="sentences")
    numbers = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        ),
        num_oov_buckets=1,
    )
    names = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            vocabulary, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE
        ),
        "?",
    )
    words = tf.string_split(sentences, " ")
    ids = tf.SparseTensor(words.indices, numbers.lookup(words.values), words.dense_shape)
    vectors = tf.nn.embedding_lookup_sparse(
        variable(tf, "vectors", [len(WORDS) + 1, 3], 11), ids, None, combiner="mean"
    )
    first = tf.reshape(tf.sparse_tensor_to_dense(ids, -1)[:, :1], [-1], name="first")
    return {
        "serving_default": ({"sentences": sentences}, {"vectors": vectors, "first": names.lookup(first)}),
    }


def examples(tf):
    """Serialized Examples -> a dense and a sparse feature -> classes and scores; also a regression."""
    serialized = tf.placeholder(tf.string, [None], name="serialized")
    features = tf.parse_example(
        serialized,
        {
            "size": tf.FixedLenFeature([2], tf.float32),
            "count": tf.FixedLenFeature([], tf.int64, default_value=3),
            "tags": tf.VarLenFeature(tf.string),
        },
    )
    count = tf.cast(tf.expand_dims(features["count"], 1), tf.float32)
    tags = tf.cast(tf.expand_dims(tf.reduce_sum(tf.cast(tf.not_equal(
        tf.sparse_tensor_to_dense(features["tags"], ""), ""), tf.int32), 1), 1), tf.float32)  # fmt: skip
    logits = tf.matmul(tf.concat([features["size"], count, tags], 1), variable(tf, "w", [4, 3], 12))
    scores = tf.nn.softmax(logits, name="scores")
    classes = tf.tile(tf.constant([["red", "green", "blue"]]), [tf.shape(serialized)[0], 1], name="classes")
    total = tf.reduce_sum(logits, 1, name="total")
    return {
        "classify": ({"inputs": serialized}, {"classes": classes, "scores": scores}),
        "regress": ({"inputs": serialized}, {"outputs": total}),
    }


def signature_def(tf, name, inputs, outputs):
    """The SignatureDef of one signature that a model gives."""
    make = tf.saved_model.signature_def_utils
    if name == "classify":
        return make.classification_signature_def(inputs["inputs"], outputs["classes"], outputs["scores"])
    if name == "regress":
        return make.regression_signature_def(inputs["inputs"], outputs["outputs"])
    return make.predict_signature_def(inputs, outputs)


def export(tf, session, folder, signatures, **options):
    """Saves the session's graph under the tag "serve"."""
    builder = tf.saved_model.builder.SavedModelBuilder(folder)
    definitions = {name: signature_def(tf, name, *tensors) for name, tensors in signatures.items()}
    builder.add_meta_graph_and_variables(
        session, [tf.saved_model.tag_constants.SERVING], definitions,
        assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS), main_op=tf.tables_initializer(), **options,
    )  # fmt: skip
    return builder


def run(tf, session, model, signature, feeds):
    """The outputs of a loaded model, by name."""
    definition = model.signature_def[signature]
    fetches = {name: info.name for name, info in definition.outputs.items()}
    return session.run(fetches, {definition.inputs[name].name: value for name, value in feeds.items()})


def serialized_examples(tf):
    def example(size, count, tags):
        feature = {"size": tf.train.Feature(float_list=tf.train.FloatList(value=size))}
        if count is not None:
            feature["count"] = tf.train.Feature(int64_list=tf.train.Int64List(value=[count]))
        feature["tags"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=tags))
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    return [example([0.5, -1.0], 2, []), example([1.5, 0.25], None, [b"x", b"y"])]


def feeds(tf):
    """What each model is run with: (model, signature, feeds)."""
    sequence = {"sequence": weights([2, 5, 3], 20), "length": np.array([5, 3], np.int32)}
    return [
        ("mlp", "serving_default", {"x": weights([3, 4], 21)}),
        ("lenet", "serving_default", {"image": weights([2, 12, 12, 1], 22)}),
        ("lstm", "serving_default", {**sequence, "double": False}),
        ("lstm", "serving_default", {**sequence, "double": True}),
        ("text", "serving_default", {"sentences": ["a graph of water", "headrace unknown", "dataflow"]}),
        ("examples", "classify", {"inputs": serialized_examples(tf)}),
        ("examples", "regress", {"inputs": serialized_examples(tf)}),
    ]
