"""Pieces of an object detector: anchors, IoU, box coding, smooth L1, hard negatives, NMS, crop and resize, focal loss."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(18)


def area(b):
    y1, x1, y2, x2 = tf.split(value=b, num_or_size_splits=4, axis=1)
    return tf.squeeze((y2 - y1) * (x2 - x1), [1])


def iou(a, b):
    y1a, x1a, y2a, x2a = tf.split(a, 4, 1)
    y1b, x1b, y2b, x2b = tf.split(b, 4, 1)
    h = tf.maximum(0.0, tf.minimum(y2a, tf.transpose(y2b)) - tf.maximum(y1a, tf.transpose(y1b)))
    w = tf.maximum(0.0, tf.minimum(x2a, tf.transpose(x2b)) - tf.maximum(x1a, tf.transpose(x1b)))
    inter = h * w
    union = tf.expand_dims(area(a), 1) + tf.expand_dims(area(b), 0) - inter
    return tf.where(tf.equal(inter, 0.0), tf.zeros_like(inter), tf.truediv(inter, union))


def encode(boxes, anchors):
    c = lambda b: (b[:, :2] + b[:, 2:]) / 2
    s = lambda b: b[:, 2:] - b[:, :2]
    return tf.concat([(c(boxes) - c(anchors)) / s(anchors) * 10, tf.log(s(boxes) / s(anchors)) * 5], 1)


cy, cx = tf.meshgrid(
    (tf.range(4, dtype=tf.float32) + 0.5) / 4, (tf.range(4, dtype=tf.float32) + 0.5) / 4, indexing="ij"
)
centers = tf.reshape(tf.stack([cy, cx], 2), [-1, 1, 2])
sizes = tf.reshape(tf.constant([[0.2, 0.2], [0.4, 0.3]]), [1, -1, 2])
anchors = tf.reshape(tf.concat([centers - sizes / 2, centers + sizes / 2], 2), [-1, 4])
gt = tf.constant([[0.1, 0.1, 0.4, 0.45], [0.5, 0.4, 0.9, 0.8], [0.2, 0.6, 0.35, 0.9]])
gt_labels = tf.constant([1, 2, 1])
overlap = iou(anchors, gt)
best = tf.argmax(overlap, 1)
best_iou = tf.reduce_max(overlap, 1)
positive = best_iou > 0.3
matched = tf.gather(gt, best)
labels = tf.where(positive, tf.gather(gt_labels, best), tf.zeros_like(best, dtype=tf.int32))
logits = tf.Variable(rng.randn(32, 3).astype("f"))
deltas = tf.Variable(rng.randn(32, 4).astype("f") * 0.1)
ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
n_pos = tf.count_nonzero(positive, dtype=tf.int32)
neg = tf.where(positive, tf.zeros_like(ce), ce)
hard, _ = tf.nn.top_k(neg, tf.minimum(3 * n_pos, 20))
target = encode(matched, anchors)
diff = tf.abs(deltas - target)
smooth = tf.reduce_sum(tf.where(diff < 1.0, 0.5 * tf.square(diff), diff - 0.5), 1)
loc = tf.reduce_sum(tf.boolean_mask(smooth, positive)) / tf.to_float(n_pos)
conf = (tf.reduce_sum(hard) + tf.reduce_sum(tf.boolean_mask(ce, positive))) / tf.to_float(n_pos)
p = tf.nn.sigmoid(logits)
onehot = tf.one_hot(labels, 3)
pt = onehot * p + (1 - onehot) * (1 - p)
focal = tf.reduce_mean(-tf.pow(1 - pt, 2.0) * tf.log(pt))
train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loc + conf + focal)
scores = tf.nn.softmax(logits)[:, 1]
keep = tf.image.non_max_suppression(anchors, scores, 5, iou_threshold=0.4)
image = tf.constant(rng.rand(1, 16, 16, 3).astype("f"))
crops = tf.image.crop_and_resize(image, gt, tf.zeros([3], tf.int32), [4, 4])
drawn = tf.image.draw_bounding_boxes(image, gt[None])
pooled = tf.nn.max_pool(crops, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
parts = tf.dynamic_partition(tf.range(32), tf.to_int32(positive), 2)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("positives", sess.run(n_pos), sess.run(parts[1]).tolist(), np.round(sess.run(best_iou), 3).max())
    for i in range(5):
        print(i, "%.4f %.4f %.4f" % tuple(sess.run([loc, conf, focal])))
        sess.run(train)
    print("kept", sess.run(keep).tolist())
    print("crops %.4f pooled %.4f drawn %.4f" % tuple(np.abs(v).sum() for v in sess.run([crops, pooled, drawn])))
