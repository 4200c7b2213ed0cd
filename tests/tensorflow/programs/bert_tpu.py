"""Fine-tuning a small BERT by a TPUEstimator without a TPU: records, a checkpoint to begin from, evaluation, prediction."""

import collections
import os
import re
import tempfile

import numpy as np
import tensorflow as tf

flags = tf.flags
FLAGS = flags.FLAGS
flags.DEFINE_bool("use_tpu", False, "Whether to use TPU or GPU/CPU.")
flags.DEFINE_integer("train_batch_size", 8, "Total batch size for training.")
flags.DEFINE_integer("eval_batch_size", 4, "Total batch size for eval.")
flags.DEFINE_integer("predict_batch_size", 4, "Total batch size for predict.")
flags.DEFINE_integer("iterations_per_loop", 1000, "How many steps to make in each estimator call.")
flags.DEFINE_integer("num_tpu_cores", 8, "Only used if `use_tpu` is True.")

VOCAB, HIDDEN, HEADS, LAYERS, LENGTH, LABELS = 30, 8, 2, 2, 6, 2
FOLDER = tempfile.mkdtemp()


def gelu(input_tensor):
    return input_tensor * 0.5 * (1.0 + tf.erf(input_tensor / tf.sqrt(2.0)))


def create_initializer(seed):
    def initializer(shape, dtype=None, partition_info=None):
        return tf.constant(np.random.RandomState(seed).randn(*[int(d) for d in shape]) * 0.2, tf.float32)

    return initializer


def layer_norm(input_tensor, name=None):
    return tf.contrib.layers.layer_norm(inputs=input_tensor, begin_norm_axis=-1, begin_params_axis=-1, scope=name)


def create_attention_mask_from_input_mask(from_tensor, to_mask):
    batch_size, from_seq_length = tf.shape(from_tensor)[0], from_tensor.shape[1].value
    to_mask = tf.cast(tf.reshape(to_mask, [batch_size, 1, -1]), tf.float32)
    return tf.ones(shape=[batch_size, from_seq_length, 1], dtype=tf.float32) * to_mask


def attention_layer(x, attention_mask, seed):
    batch, size = tf.shape(x)[0], HIDDEN // HEADS

    def heads(name, shift):
        dense = tf.layers.dense(x, HIDDEN, name=name, kernel_initializer=create_initializer(seed + shift))
        return tf.transpose(tf.reshape(dense, [batch, LENGTH, HEADS, size]), [0, 2, 1, 3])

    query, key, value = heads("query", 0), heads("key", 1), heads("value", 2)
    scores = tf.multiply(tf.matmul(query, key, transpose_b=True), 1.0 / np.sqrt(float(size)))
    scores += (1.0 - tf.expand_dims(attention_mask, axis=[1])) * -10000.0
    context = tf.matmul(tf.nn.softmax(scores), value)
    return tf.reshape(tf.transpose(context, [0, 2, 1, 3]), [batch, LENGTH, HIDDEN])


def bert(input_ids, input_mask, segment_ids):
    with tf.variable_scope("bert"):
        with tf.variable_scope("embeddings"):
            table = tf.get_variable("word_embeddings", [VOCAB, HIDDEN], initializer=create_initializer(1))
            types = tf.get_variable("token_type_embeddings", [2, HIDDEN], initializer=create_initializer(2))
            places = tf.get_variable("position_embeddings", [16, HIDDEN], initializer=create_initializer(3))
            with tf.control_dependencies([tf.assert_less_equal(LENGTH, 16)]):
                place = tf.slice(places, [0, 0], [LENGTH, -1])
            x = tf.gather(table, input_ids) + tf.gather(types, segment_ids)
            x = layer_norm(x + place, "LayerNorm")
        mask = create_attention_mask_from_input_mask(x, input_mask)
        with tf.variable_scope("encoder"):
            for layer in range(LAYERS):
                with tf.variable_scope("layer_%d" % layer):
                    with tf.variable_scope("attention"):
                        with tf.variable_scope("self"):
                            attended = attention_layer(x, mask, 10 * layer + 10)
                        with tf.variable_scope("output"):
                            attended = tf.layers.dense(
                                attended, HIDDEN, kernel_initializer=create_initializer(10 * layer + 14)
                            )
                            attended = layer_norm(attended + x)
                    with tf.variable_scope("intermediate"):
                        middle = tf.layers.dense(
                            attended,
                            4 * HIDDEN,
                            activation=gelu,
                            kernel_initializer=create_initializer(10 * layer + 15),
                        )
                    with tf.variable_scope("output"):
                        x = tf.layers.dense(middle, HIDDEN, kernel_initializer=create_initializer(10 * layer + 16))
                        x = layer_norm(x + attended)
        with tf.variable_scope("pooler"):
            first = tf.squeeze(x[:, 0:1, :], axis=1)
            return tf.layers.dense(first, HIDDEN, activation=tf.tanh, kernel_initializer=create_initializer(5))


class AdamWeightDecayOptimizer(tf.train.Optimizer):
    """Adam whose weight decay is no part of the moments."""

    def __init__(self, learning_rate, weight_decay_rate, exclude):
        super(AdamWeightDecayOptimizer, self).__init__(False, "AdamWeightDecayOptimizer")
        self.learning_rate, self.weight_decay_rate, self.exclude = learning_rate, weight_decay_rate, exclude

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        assignments = []
        for grad, param in grads_and_vars:
            if grad is None or param is None:
                continue
            name = re.match("^(.*):\\d+$", param.name).group(1)
            slot = {"shape": param.shape.as_list(), "dtype": tf.float32, "trainable": False}
            m = tf.get_variable(name=name + "/adam_m", initializer=tf.zeros_initializer(), **slot)
            v = tf.get_variable(name=name + "/adam_v", initializer=tf.zeros_initializer(), **slot)
            next_m = tf.multiply(0.9, m) + tf.multiply(1.0 - 0.9, grad)
            next_v = tf.multiply(0.999, v) + tf.multiply(1.0 - 0.999, tf.square(grad))
            update = next_m / (tf.sqrt(next_v) + 1e-6)
            if not any(re.search(r, name) for r in self.exclude):
                update += self.weight_decay_rate * param
            next_param = param - self.learning_rate * update
            assignments.extend([param.assign(next_param), m.assign(next_m), v.assign(next_v)])
        return tf.group(*assignments, name=name)


def create_optimizer(loss, init_lr, num_train_steps, num_warmup_steps, use_tpu):
    global_step = tf.train.get_or_create_global_step()
    rate = tf.train.polynomial_decay(
        tf.constant(init_lr, tf.float32), global_step, num_train_steps, end_learning_rate=0.0, power=1.0, cycle=False
    )
    steps, warmup = tf.cast(global_step, tf.float32), tf.constant(num_warmup_steps, tf.float32)
    is_warmup = tf.cast(steps < warmup, tf.float32)
    rate = (1.0 - is_warmup) * rate + is_warmup * init_lr * (steps / warmup)
    optimizer = AdamWeightDecayOptimizer(rate, 0.01, ["LayerNorm", "layer_norm", "bias"])
    if use_tpu:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    tvars = tf.trainable_variables()
    grads, _ = tf.clip_by_global_norm(tf.gradients(loss, tvars), clip_norm=1.0)
    train_op = optimizer.apply_gradients(zip(grads, tvars), global_step=global_step)
    with tf.control_dependencies([train_op]):  # the rate depends on the step, which counts when all is done
        return tf.group(global_step.assign(global_step + 1))


def get_assignment_map_from_checkpoint(tvars, init_checkpoint):
    names = collections.OrderedDict((re.match("^(.*):\\d+$", v.name).group(1), v) for v in tvars)
    return collections.OrderedDict((n, n) for n, _ in tf.train.list_variables(init_checkpoint) if n in names)


class PrintLoss(tf.train.SessionRunHook):
    def __init__(self, loss):
        self.loss, self.count = loss, 0

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.loss)

    def after_run(self, run_context, run_values):
        self.count += 1
        if self.count % 3 == 1:
            print("step %d loss %.4f" % (self.count, run_values.results))


def model_fn_builder(init_checkpoint, num_train_steps):
    def model_fn(features, labels, mode, params):
        print("*** %s: batch size %d" % (mode, params["batch_size"]))
        pooled = bert(features["input_ids"], features["input_mask"], features["segment_ids"])
        weights = tf.get_variable("output_weights", [LABELS, HIDDEN], initializer=create_initializer(7))
        bias = tf.get_variable("output_bias", [LABELS], initializer=tf.zeros_initializer())
        logits = tf.nn.bias_add(tf.matmul(pooled, weights, transpose_b=True), bias)
        probabilities = tf.nn.softmax(logits, axis=-1)
        label_ids = features["label_ids"]
        per_example = -tf.reduce_sum(
            tf.one_hot(label_ids, depth=LABELS, dtype=tf.float32) * tf.nn.log_softmax(logits, axis=-1), axis=-1
        )
        loss = tf.reduce_mean(per_example)
        tvars = tf.trainable_variables()
        mapping = get_assignment_map_from_checkpoint(tvars, init_checkpoint)
        if mode == tf.estimator.ModeKeys.TRAIN:
            print("from the checkpoint: %d of %d" % (len(mapping), len(tvars)))
        tf.train.init_from_checkpoint(init_checkpoint, mapping)
        if mode == tf.estimator.ModeKeys.TRAIN:
            train_op = create_optimizer(loss, 0.02, num_train_steps, 2, FLAGS.use_tpu)
            return tf.contrib.tpu.TPUEstimatorSpec(
                mode=mode, loss=loss, train_op=train_op, scaffold_fn=None, training_hooks=[PrintLoss(loss)]
            )
        if mode == tf.estimator.ModeKeys.EVAL:

            def metric_fn(per_example_loss, label_ids, logits):
                predictions = tf.argmax(logits, axis=-1, output_type=tf.int32)
                return {
                    "eval_accuracy": tf.metrics.accuracy(labels=label_ids, predictions=predictions),
                    "eval_loss": tf.metrics.mean(values=per_example_loss),
                }

            return tf.contrib.tpu.TPUEstimatorSpec(
                mode=mode, loss=loss, eval_metrics=(metric_fn, [per_example, label_ids, logits])
            )
        return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, predictions={"probabilities": probabilities})

    return model_fn


def file_based_input_fn_builder(input_file, is_training):
    name_to_features = {
        "input_ids": tf.FixedLenFeature([LENGTH], tf.int64),
        "input_mask": tf.FixedLenFeature([LENGTH], tf.int64),
        "segment_ids": tf.FixedLenFeature([LENGTH], tf.int64),
        "label_ids": tf.FixedLenFeature([], tf.int64),
    }

    def decode(record):
        example = tf.parse_single_example(record, name_to_features)
        for name in list(example.keys()):
            example[name] = tf.to_int32(example[name])
        return example

    def input_fn(params):
        data = tf.data.TFRecordDataset(input_file)
        if is_training:
            data = data.repeat()
        return data.apply(
            tf.contrib.data.map_and_batch(decode, batch_size=params["batch_size"], drop_remainder=is_training)
        )

    return input_fn


def write_records(path, count, seed):
    random = np.random.RandomState(seed)
    writer = tf.python_io.TFRecordWriter(path)
    for _ in range(count):
        length = random.randint(3, LENGTH + 1)
        ids = np.where(np.arange(LENGTH) < length, random.randint(1, VOCAB, LENGTH), 0)
        features = collections.OrderedDict(
            input_ids=ids, input_mask=np.arange(LENGTH) < length, segment_ids=np.arange(LENGTH) >= 3,
            label_ids=[int(ids[1] > VOCAB // 2)],
        )  # fmt: skip
        feature = {
            name: tf.train.Feature(int64_list=tf.train.Int64List(value=[int(v) for v in values]))
            for name, values in features.items()
        }
        writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    writer.close()


def main(_):
    init_checkpoint = os.path.join(FOLDER, "bert_model.ckpt")
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.zeros([1, LENGTH], tf.int32)
        bert(ids, ids, ids)
        session.run(tf.global_variables_initializer())
        session.run([variable.assign(variable * 0.9) for variable in tf.trainable_variables()])
        tf.train.Saver().save(session, init_checkpoint)
    write_records(os.path.join(FOLDER, "train.tf_record"), 40, 0)
    write_records(os.path.join(FOLDER, "eval.tf_record"), 12, 1)
    is_per_host = tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2
    run_config = tf.contrib.tpu.RunConfig(
        cluster=None, master=None, model_dir=os.path.join(FOLDER, "out"), save_checkpoints_steps=1000,
        tpu_config=tf.contrib.tpu.TPUConfig(
            iterations_per_loop=FLAGS.iterations_per_loop, num_shards=FLAGS.num_tpu_cores,
            per_host_input_for_training=is_per_host,
        ),
    )  # fmt: skip
    estimator = tf.contrib.tpu.TPUEstimator(
        use_tpu=FLAGS.use_tpu, model_fn=model_fn_builder(init_checkpoint, 18), config=run_config,
        train_batch_size=FLAGS.train_batch_size, eval_batch_size=FLAGS.eval_batch_size,
        predict_batch_size=FLAGS.predict_batch_size,
    )  # fmt: skip
    train, held_out = os.path.join(FOLDER, "train.tf_record"), os.path.join(FOLDER, "eval.tf_record")
    estimator.train(input_fn=file_based_input_fn_builder(train, True), max_steps=18)
    result = estimator.evaluate(input_fn=file_based_input_fn_builder(held_out, False), steps=None)
    for key in sorted(result.keys()):
        print("%s = %.4f" % (key, result[key]))
    predictions = estimator.predict(input_fn=file_based_input_fn_builder(held_out, False))
    print(" ".join("%.4f" % prediction["probabilities"][1] for prediction in predictions))


if __name__ == "__main__":
    tf.app.run()
