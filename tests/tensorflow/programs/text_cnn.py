"""Kim's CNN for sentences, as the well-known repository has it: name scopes, L2, streaming metrics."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(22)


class TextCNN(object):
    def __init__(
        self, sequence_length, num_classes, vocab_size, embedding_size, filter_sizes, num_filters, l2_reg_lambda=0.0
    ):
        self.input_x = tf.placeholder(tf.int32, [None, sequence_length], name="input_x")
        self.input_y = tf.placeholder(tf.float32, [None, num_classes], name="input_y")
        self.dropout_keep_prob = tf.placeholder(tf.float32, name="dropout_keep_prob")
        l2_loss = tf.constant(0.0)
        with tf.device("/cpu:0"), tf.name_scope("embedding"):
            self.W = tf.Variable(rng.uniform(-1.0, 1.0, [vocab_size, embedding_size]).astype("f"), name="W")
            self.embedded_chars = tf.nn.embedding_lookup(self.W, self.input_x)
            self.embedded_chars_expanded = tf.expand_dims(self.embedded_chars, -1)
        pooled_outputs = []
        for i, filter_size in enumerate(filter_sizes):
            with tf.name_scope("conv-maxpool-%s" % filter_size):
                filter_shape = [filter_size, embedding_size, 1, num_filters]
                W = tf.Variable(rng.normal(0, 0.1, filter_shape).astype("f"), name="W")
                b = tf.Variable(tf.constant(0.1, shape=[num_filters]), name="b")
                conv = tf.nn.conv2d(self.embedded_chars_expanded, W, strides=[1, 1, 1, 1], padding="VALID", name="conv")
                h = tf.nn.relu(tf.nn.bias_add(conv, b), name="relu")
                pooled = tf.nn.max_pool(
                    h,
                    ksize=[1, sequence_length - filter_size + 1, 1, 1],
                    strides=[1, 1, 1, 1],
                    padding="VALID",
                    name="pool",
                )
                pooled_outputs.append(pooled)
        num_filters_total = num_filters * len(filter_sizes)
        self.h_pool_flat = tf.reshape(tf.concat(pooled_outputs, 3), [-1, num_filters_total])
        with tf.name_scope("dropout"):
            self.h_drop = tf.nn.dropout(self.h_pool_flat, self.dropout_keep_prob)
        with tf.name_scope("output"):
            W = tf.get_variable(
                "W",
                shape=[num_filters_total, num_classes],
                initializer=tf.constant_initializer(rng.normal(0, 0.3, (num_filters_total, num_classes))),
            )
            b = tf.Variable(tf.constant(0.1, shape=[num_classes]), name="b")
            l2_loss += tf.nn.l2_loss(W)
            l2_loss += tf.nn.l2_loss(b)
            self.scores = tf.nn.xw_plus_b(self.h_drop, W, b, name="scores")
            self.predictions = tf.argmax(self.scores, 1, name="predictions")
        with tf.name_scope("loss"):
            losses = tf.nn.softmax_cross_entropy_with_logits(logits=self.scores, labels=self.input_y)
            self.loss = tf.reduce_mean(losses) + l2_reg_lambda * l2_loss
        with tf.name_scope("accuracy"):
            correct_predictions = tf.equal(self.predictions, tf.argmax(self.input_y, 1))
            self.accuracy = tf.reduce_mean(tf.cast(correct_predictions, "float"), name="accuracy")


with tf.Graph().as_default() as g:
    sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=False))
    with sess, sess.as_default():
        cnn = TextCNN(7, 2, 30, 6, [2, 3, 4], 4, 0.1)
        global_step = tf.Variable(0, name="global_step", trainable=False)
        optimizer = tf.train.AdamOptimizer(1e-2)
        grads_and_vars = optimizer.compute_gradients(cnn.loss)
        train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)
        preds = g.get_operation_by_name("output/predictions").outputs[0]
        precision = tf.metrics.precision(tf.argmax(cnn.input_y, 1), preds)
        recall = tf.metrics.recall(tf.argmax(cnn.input_y, 1), preds)
        sess.run(tf.global_variables_initializer())
        sess.run(tf.local_variables_initializer())
        x, y = rng.randint(0, 30, (16, 7)), np.eye(2)[rng.randint(0, 2, 16)]
        for i in range(6):
            feed = {cnn.input_x: x, cnn.input_y: y, cnn.dropout_keep_prob: 1.0}
            _, step = sess.run([train_op, global_step], feed)
            loss, accuracy, _, _ = sess.run([cnn.loss, cnn.accuracy, precision[1], recall[1]], feed)
            print("step {}, loss {:.4f}, acc {:.3f}".format(i, loss, accuracy))
        print("p %.3f r %.3f" % tuple(sess.run([precision[0], recall[0]])))
        for grad, v in grads_and_vars:
            print(v.name, v.get_shape(), isinstance(grad, tf.IndexedSlices))
