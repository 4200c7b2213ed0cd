"""What tests of datasets share."""

import headrace as tf


def take(dataset, limit=1000, one_shot=False):
    """All elements, and the names of errors."""
    iterator = dataset.make_one_shot_iterator() if one_shot else dataset.make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        if not one_shot:
            sess.run(iterator.initializer)
        return drain(sess, element, limit)


def drain(sess, element, limit=1000):
    elements = []
    while len(elements) < limit:
        try:
            elements.append(sess.run(element))
        except tf.errors.OutOfRangeError:
            break
        except tf.errors.OpError as e:
            elements.append(type(e).__name__)
    return elements


def one_by_one(dataset):
    """The dataset with its functions called for single elements."""
    options = tf.data.Options()
    options.experimental_optimization.map_vectorization.enabled = False
    return dataset.with_options(options)
