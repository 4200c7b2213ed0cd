"""A small BERT that learns a task: fine-tuning in the manner of its run_classifier.py, by a TPUEstimator without TPUs.

Run it with `python examples/fine_tuning.py`. It writes sentences to TFRecord files, begins with the weights of a checkpoint (one
that it has made up, unless `--init_checkpoint` names one), trains, evaluates, and predicts. `--loop session` trains the same
model by steps of a session.
"""

import argparse
import os
import re
import tempfile

import numpy as np

import headrace as tf

LENGTH, WORDS, WIDTH, HEADS, LAYERS = 16, 60, 32, 4, 2
FIRST, SEPARATOR, GOOD, BAD = 1, 2, range(10, 20), range(20, 30)  # among the numbers of words


def main(argv=None):
    """Trains, evaluates and predicts; returns the loss of every step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=150, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of sentences and weights (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=2e-3, help="the highest learning rate (default: %(default)s)")
    parser.add_argument("--loop", choices=["estimator", "session"], default="estimator", help="what runs the steps")
    parser.add_argument("--init_checkpoint", help="a checkpoint of a model of this shape")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        if options.init_checkpoint is None:
            options.init_checkpoint = os.path.join(folder, "begin", "model.ckpt")
            write_checkpoint(options)
        random = np.random.RandomState(options.seed)
        files = {name: os.path.join(folder, f"{name}.tf_record") for name in ("train", "eval", "predict")}
        labels = {name: write_examples(path, random, 60 if name == "predict" else 400) for name, path in files.items()}
        if options.loop == "session":
            return train_in_session(files["train"], options)
        return run_estimator(files, labels["predict"], os.path.join(folder, "model"), options)


def run_estimator(files, labels, folder, options):
    """The three calls of run_classifier.py; returns the losses of the steps."""
    config = tf.contrib.tpu.RunConfig(
        model_dir=folder,
        save_checkpoints_steps=1000,
        tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=1000, num_shards=8, per_host_input_for_training=3),
    )
    estimator = tf.contrib.tpu.TPUEstimator(
        use_tpu=False,
        model_fn=model_fn_builder(options, tf.contrib.tpu.TPUEstimatorSpec),
        config=config,
        train_batch_size=32,
        eval_batch_size=50,
        predict_batch_size=8,
    )
    losses = Losses()
    estimator.train(input_fn_builder(files["train"], True, True), hooks=[losses], max_steps=options.steps)
    result = estimator.evaluate(input_fn_builder(files["eval"], False, False), steps=400 // 50)
    for key in sorted(result):
        print(f"{key} = {result[key]:.4f}")
    predictions = estimator.predict(input_fn_builder(files["predict"], False, False))
    chosen = [np.argmax(one["probabilities"]) for one in predictions]
    print(f"predicted {len(chosen)} sentences, {np.mean(np.equal(chosen, labels)):.4f} of them right")
    return losses.values


class Losses(tf.train.SessionRunHook):
    """Keeps the loss of every step, and shows some."""

    def __init__(self):
        self.values = []

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.get_collection(tf.GraphKeys.LOSSES)[0])

    def after_run(self, run_context, run_values):
        show(len(self.values), run_values.results)
        self.values.append(float(run_values.results))


def show(step, loss):
    """One line of every 30 steps."""
    if step % 30 == 0:
        print(f"step {step:4d}  loss {loss:.4f}")


def train_in_session(path, options):
    """The same training without an estimator; returns the losses of the steps."""
    with tf.Graph().as_default():
        tf.train.create_global_step()
        dataset = input_fn_builder(path, True, True)({"batch_size": 32})
        features = tf.data.make_one_shot_iterator(dataset).get_next()
        spec = model_fn_builder(options, make_spec=dict)(features, None, "train", {})
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            losses = []
            for step in range(options.steps):
                losses.append(float(session.run([spec["train_op"], spec["loss"]])[1]))
                show(step, losses[-1])
            return losses


# ---- input


def write_examples(path, random, count):
    """Sentences with more good words than bad ones, or the other way round; returns which."""
    labels = []
    with tf.python_io.TFRecordWriter(path) as writer:
        for _ in range(count):
            label, length = random.randint(2), random.randint(6, LENGTH - 2)
            telling = [random.choice([BAD, GOOD][label if i < 2 else 1 - label]) for i in range(3)]
            words = np.concatenate([telling, random.randint(30, WORDS, size=length - 3)])
            random.shuffle(words)
            ids = [FIRST, *words, SEPARATOR]
            features = {
                "input_ids": ids + [0] * (LENGTH - len(ids)),
                "input_mask": [1] * len(ids) + [0] * (LENGTH - len(ids)),
                "segment_ids": [0] * LENGTH,
                "label_ids": [label],
            }
            named = {
                key: tf.train.Feature(int64_list=tf.train.Int64List(value=values)) for key, values in features.items()
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString())
            labels.append(label)
    return labels


def input_fn_builder(path, is_training, drop_remainder):
    """A function that makes the dataset of a file, for an estimator."""
    shapes = {"input_ids": [LENGTH], "input_mask": [LENGTH], "segment_ids": [LENGTH], "label_ids": []}

    def decode(record):
        features = tf.parse_single_example(record, {key: tf.FixedLenFeature(s, tf.int64) for key, s in shapes.items()})
        return {key: tf.cast(value, tf.int32) for key, value in features.items()}

    def input_fn(params):
        dataset = tf.data.TFRecordDataset(path)
        if is_training:
            dataset = dataset.repeat().shuffle(buffer_size=100, seed=7)
        return dataset.apply(
            tf.data.experimental.map_and_batch(decode, params["batch_size"], drop_remainder=drop_remainder)
        )

    return input_fn


# ---- the model


def model_fn_builder(options, make_spec):
    """The model as an estimator calls it."""

    def model_fn(features, labels, mode, params):
        label_ids = features["label_ids"]
        pooled = bert(features["input_ids"], features["input_mask"], features["segment_ids"])
        random = np.random.RandomState(options.seed + 1)
        weights = tf.get_variable("output_weights", initializer=numbers(random, [2, WIDTH]))
        bias = tf.get_variable("output_bias", [2], initializer=tf.zeros_initializer())
        logits = tf.nn.bias_add(tf.matmul(pooled, weights, transpose_b=True), bias)
        one_hot = tf.one_hot(label_ids, depth=2, dtype=tf.float32)
        per_example = -tf.reduce_sum(one_hot * tf.nn.log_softmax(logits, axis=-1), axis=-1)
        loss = tf.reduce_mean(per_example)
        tf.train.init_from_checkpoint(options.init_checkpoint, assignment_map(options.init_checkpoint))
        if mode == "train":
            train_op = create_optimizer(loss, options.rate, options.steps, options.steps // 10)
            return make_spec(mode=mode, loss=loss, train_op=train_op)
        if mode == "eval":
            return make_spec(mode=mode, loss=loss, eval_metrics=(metric_fn, [per_example, label_ids, logits]))
        return make_spec(mode=mode, predictions={"probabilities": tf.nn.softmax(logits, axis=-1)})

    return model_fn


def metric_fn(per_example_loss, label_ids, logits):
    """What an evaluation measures."""
    predictions = tf.argmax(logits, axis=-1, output_type=tf.int32)
    return {
        "eval_accuracy": tf.metrics.accuracy(labels=label_ids, predictions=predictions),
        "eval_loss": tf.metrics.mean(values=per_example_loss),
    }


def assignment_map(checkpoint):
    """Which variables of the graph begin with values of the checkpoint: those that it has."""
    names = {re.sub(":\\d+$", "", variable.name) for variable in tf.trainable_variables()}
    return {name: name for name, _ in tf.train.list_variables(checkpoint) if name in names}


def bert(input_ids, input_mask, segment_ids):
    """The state of the first word after all layers, squashed once more."""
    with tf.variable_scope("bert"):
        with tf.variable_scope("embeddings"):
            words = tf.nn.embedding_lookup(weight("word_embeddings", [WORDS, WIDTH]), input_ids)
            segments = tf.matmul(
                tf.one_hot(segment_ids, 2), tile(weight("token_type_embeddings", [2, WIDTH]), input_ids)
            )
            x = layer_norm(words + segments + weight("position_embeddings", [LENGTH, WIDTH]))
        mask = (1.0 - tf.cast(input_mask[:, None, None, :], tf.float32)) * -10000.0
        for layer in range(LAYERS):
            with tf.variable_scope(f"encoder/layer_{layer}"):
                with tf.variable_scope("attention"):
                    x = layer_norm(x + dense("output", attention(x, mask), WIDTH))
                x = layer_norm(x + dense("output", gelu(dense("intermediate", x, 4 * WIDTH)), WIDTH))
        return tf.tanh(dense("pooler", x[:, 0], WIDTH))


def attention(x, mask):
    """Each word's mean of the words that concern it, by several heads."""

    def heads(name):
        return tf.transpose(tf.reshape(dense(name, x, WIDTH), [-1, LENGTH, HEADS, WIDTH // HEADS]), [0, 2, 1, 3])

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(WIDTH / HEADS) + mask
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
    return tf.reshape(mixed, [-1, LENGTH, WIDTH])


def dense(name, x, size):
    """A linear layer."""
    with tf.variable_scope(name):
        kernel = weight("kernel", [x.shape[-1], size])
        return tf.tensordot(x, kernel, [[-1], [0]]) + tf.get_variable(
            "bias", [size], initializer=tf.zeros_initializer()
        )


def layer_norm(x):
    """Each word's state with mean 0 and variance 1, then scaled and moved."""
    with tf.variable_scope(None, "LayerNorm"):
        gamma = tf.get_variable("gamma", [WIDTH], initializer=tf.ones_initializer())
        beta = tf.get_variable("beta", [WIDTH], initializer=tf.zeros_initializer())
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.rsqrt(variance + 1e-6) * gamma + beta


def gelu(x):
    """The Gaussian error linear unit."""
    return x * 0.5 * (1.0 + tf.erf(x / np.sqrt(2.0)))


def weight(name, shape):
    """A variable that begins with random numbers."""
    return tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=0.02))


def tile(table, input_ids):
    """The table once for each sentence."""
    return tf.tile(table[None], [tf.shape(input_ids)[0], 1, 1])


# ---- training


def create_optimizer(loss, init_lr, num_train_steps, num_warmup_steps):
    """A step of training whose rate grows at first and then falls to nothing."""
    global_step = tf.train.get_or_create_global_step()
    rate = tf.train.polynomial_decay(init_lr, global_step, num_train_steps, end_learning_rate=0.0, power=1.0)
    if num_warmup_steps:
        done = tf.cast(global_step, tf.float32) / num_warmup_steps
        rate = tf.where(done < 1.0, init_lr * done, rate)
    optimizer = AdamWeightDecayOptimizer(rate, 0.01, exclude=["LayerNorm", "bias"])
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), clip_norm=1.0)
    train_op = optimizer.apply_gradients(zip(gradients, variables, strict=True), global_step=global_step)
    tf.add_to_collection(tf.GraphKeys.LOSSES, loss)
    with tf.control_dependencies([train_op]):  # BERT leaves the order open; then a step's rate may be that of the next
        return tf.group(global_step.assign(global_step + 1))


class AdamWeightDecayOptimizer(tf.train.Optimizer):
    """Adam without the correction of its first steps, with weight decay that Adam does not scale."""

    def __init__(self, learning_rate, weight_decay_rate, exclude, beta_1=0.9, beta_2=0.999, epsilon=1e-6):
        super().__init__(False, "AdamWeightDecayOptimizer")
        self.rate, self.decay, self.exclude = learning_rate, weight_decay_rate, exclude
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        assignments = []
        for gradient, variable in grads_and_vars:
            if gradient is None:
                continue
            base = re.sub(":\\d+$", "", variable.name)
            m, v = (
                tf.get_variable(
                    f"{base}/{slot}", variable.shape.as_list(), tf.float32, tf.zeros_initializer(), trainable=False
                )
                for slot in ("adam_m", "adam_v")
            )
            # tf.multiply and tf.square also take the gradient of a lookup, which has some of the rows.
            next_m = tf.multiply(self.beta_1, m) + tf.multiply(1.0 - self.beta_1, gradient)
            next_v = tf.multiply(self.beta_2, v) + tf.multiply(1.0 - self.beta_2, tf.square(gradient))
            step = next_m / (tf.sqrt(next_v) + self.epsilon)
            if not any(re.search(pattern, base) for pattern in self.exclude):
                step += self.decay * variable
            assignments += [variable.assign(variable - self.rate * step), m.assign(next_m), v.assign(next_v)]
        return tf.group(*assignments, name=name)


# ---- weights to begin with


def write_checkpoint(options):
    """A checkpoint of the model without its output, with numbers of NumPy."""
    random = np.random.RandomState(options.seed + 2)
    os.makedirs(os.path.dirname(options.init_checkpoint))
    with tf.Graph().as_default(), tf.Session() as session:
        bert(*(tf.zeros([1, LENGTH], tf.int32) for _ in range(3)))
        session.run(tf.global_variables_initializer())
        for variable in sorted(tf.global_variables(), key=lambda variable: variable.name):
            if len(variable.shape) == 2:
                variable.load(numbers(random, variable.shape.as_list()), session)
        tf.train.Saver().save(session, options.init_checkpoint)


def numbers(random, shape):
    """Random numbers for a weight; larger than BERT's, for the model is smaller."""
    return (random.standard_normal(shape) * 0.1).astype(np.float32)


if __name__ == "__main__":
    main()
