"""Wide and deep by an Estimator: a CSV file through a dataset, feature columns, two optimizers, evaluation, prediction."""

import os
import tempfile

import numpy as np
import tensorflow as tf

COLUMNS = ["age", "hours", "education", "job", "label"]
DEFAULTS = [[0.0], [0.0], [""], [""], [""]]
EDUCATION = ["Bachelors", "HS-grad", "Masters"]


def write_csv(path, rows, seed):
    random = np.random.RandomState(seed)
    with open(path, "w") as f:
        for _ in range(rows):
            age, hours = random.randint(18, 70), random.randint(10, 60)
            education, job = EDUCATION[random.randint(3)], "job%d" % random.randint(5)
            rich = age + hours + 20 * (education == "Masters") > 90
            f.write("%d,%d,%s,%s,%s\n" % (age, hours, education, job, ">50K" if rich else "<=50K"))


def constant(seed):
    def initializer(shape, dtype=None, partition_info=None):
        sizes = [int(getattr(size, "value", size)) for size in shape]
        return tf.constant(np.random.RandomState(seed).randn(*sizes) * 0.3, tf.float32)

    return initializer


def build_columns():
    age = tf.feature_column.numeric_column("age", normalizer_fn=lambda x: (x - 44.0) / 15.0)
    hours = tf.feature_column.numeric_column("hours", normalizer_fn=lambda x: (x - 35.0) / 15.0)
    education = tf.feature_column.categorical_column_with_vocabulary_list("education", EDUCATION)
    job = tf.feature_column.categorical_column_with_hash_bucket("job", 20)
    raw_age = tf.feature_column.numeric_column("age")
    buckets = tf.feature_column.bucketized_column(raw_age, [25, 35, 45, 55, 65])
    wide = [education, job, buckets, tf.feature_column.crossed_column(["education", "job"], hash_bucket_size=30)]
    deep = [
        age, hours, tf.feature_column.indicator_column(education),
        tf.feature_column.embedding_column(job, dimension=4, initializer=constant(1)),
    ]  # fmt: skip
    return wide, deep


def input_fn(path, epochs, batch_size):
    def parse(line):
        features = dict(zip(COLUMNS, tf.decode_csv(line, record_defaults=DEFAULTS)))
        return features, tf.equal(features.pop("label"), ">50K")

    dataset = tf.data.TextLineDataset(path).map(parse, num_parallel_calls=2)
    return dataset.repeat(epochs).batch(batch_size).prefetch(1)


def model_fn(features, labels, mode, params):
    wide, deep = build_columns()
    with tf.variable_scope("wide"):
        wide_logits = tf.feature_column.linear_model(features, wide)
    with tf.variable_scope("deep"):
        net = tf.feature_column.input_layer(features, deep)
        for i, units in enumerate(params["hidden"]):
            net = tf.layers.dense(net, units, tf.nn.relu, kernel_initializer=constant(2 + i), name="hidden_%d" % i)
        deep_logits = tf.layers.dense(net, 1, kernel_initializer=constant(9), name="logits")
    logits = wide_logits + deep_logits
    probability = tf.sigmoid(logits)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"probability": probability, "age": features["age"]})
    labels = tf.reshape(tf.to_float(labels), [-1, 1])
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {
            "accuracy": tf.metrics.accuracy(labels, tf.to_float(probability > 0.5)),
            "auc": tf.metrics.auc(labels, probability),
            "label/mean": tf.metrics.mean(labels),
        }
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    step = tf.train.get_global_step()
    of = lambda scope: tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
    train_op = tf.group(
        tf.train.FtrlOptimizer(0.2, l1_regularization_strength=0.01).minimize(loss, var_list=of("wide")),
        tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=of("deep")),
        tf.assign_add(step, 1),
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main(_):
    folder = tempfile.mkdtemp()
    train, test = os.path.join(folder, "train.csv"), os.path.join(folder, "test.csv")
    write_csv(train, 200, 0)
    write_csv(test, 50, 1)
    estimator = tf.estimator.Estimator(model_fn, os.path.join(folder, "model"), params={"hidden": [16, 8]})
    for n in range(3):  # train and evaluate in turn: each goes on from the checkpoint before
        estimator.train(input_fn=lambda: input_fn(train, 2, 40))
        results = estimator.evaluate(input_fn=lambda: input_fn(test, 1, 20))
        print("Results at epoch", (n + 1) * 2)
        for key in sorted(results):
            print("%s: %.3f" % (key, results[key]))
    for i, row in enumerate(estimator.predict(input_fn=lambda: input_fn(test, 1, 20))):
        if i % 10 == 0:
            print("age %d: %.3f" % (row["age"], row["probability"][0]))


if __name__ == "__main__":
    tf.app.run(main)
