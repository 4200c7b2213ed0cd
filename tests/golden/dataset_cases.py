"""A family of chains of datasets, grown from a seed; the same for any `tf`."""

from random import Random

import numpy as np

SEEDS = range(300)
LIMIT = 40  # elements taken of each
ERRORS = 2  # after so many a chain is left


class Chain:
    """Grows one chain.  Every decision depends on the seed and on what is known of the elements."""

    def __init__(self, tf, seed):
        self.tf, self.random = tf, Random(seed)
        self.Dataset = tf.data.Dataset
        self.shuffled = False

    def number(self, *choices):
        return self.random.choice(choices)

    def grown(self):
        dataset = self.source()
        for _ in range(self.random.randint(1, 6)):
            dataset = self.more(dataset)
        return dataset

    def source(self, inner=False):
        Dataset, r = self.Dataset, self.random
        n = self.number(0, 3, 7, 7, 12, 20)
        return r.choice(
            [
                lambda: Dataset.range(n),
                lambda: Dataset.range(self.number(-3, 2, 9), self.number(8, 10), self.number(1, 2, -3)),
                lambda: Dataset.from_tensor_slices(np.arange(n * 2, dtype=np.float32).reshape(n, 2) / 4),
                lambda: Dataset.from_tensor_slices(([b"a", b"bc", b"", b"def"], [1, 2, 3, 4])),
                lambda: Dataset.from_tensor_slices({"x": np.arange(n), "y": np.arange(n) % 3 == 0}),
                lambda: Dataset.from_tensors((np.int32(5), [1.5, -2.0])),
                lambda: Dataset.range(n).map(lambda i: self.tf.range(i)),
                lambda: Dataset.from_generator(lambda: iter(range(n)), self.tf.int32, []),
                lambda: Dataset.from_generator(
                    lambda: ((i, "w" * i) for i in range(n)), (self.tf.int64, self.tf.string)
                ),
            ]
        )()

    # ---- what is known

    def leaves(self, dataset):
        types = self.tf.nest.flatten(self.tf.data.get_output_types(dataset))
        shapes = self.tf.nest.flatten(self.tf.data.get_output_shapes(dataset))
        return list(zip(types, shapes, strict=True))

    def is_number(self, dataset):
        """Whether an element is one integer."""
        (dtype, shape), *others = self.leaves(dataset)
        plain = not isinstance(self.tf.data.get_output_types(dataset), (tuple, dict))
        return plain and not others and dtype.is_integer and shape.ndims == 0

    def first(self, *element):
        """An integer made of an element."""
        tf = self.tf
        leaf = tf.nest.flatten(element)[0]
        if leaf.dtype == tf.string:
            return tf.cast(tf.reduce_sum(tf.strings.length(leaf)), tf.int64)
        return tf.cast(tf.reduce_sum(tf.cast(leaf, tf.float32)), tf.int64)

    # ---- one more

    def more(self, dataset):
        names = [
            "take", "skip", "repeat", "shuffle", "batch", "prefetch", "shard", "cache", "concatenate", "enumerate", "zip",
            "map", "parallel_map", "filter", "flat_map", "interleave", "window", "unbatch", "padded", "map_and_batch",
            "shuffle_and_repeat", "scan", "take_while", "repeat_for_ever", "bad_map", "unique", "ignore_errors",
        ]  # fmt: skip
        return getattr(self, f"do_{self.random.choice(names)}")(dataset)

    def do_take(self, d):
        return d.take(self.number(-1, 0, 3, 5, 9))

    def do_skip(self, d):
        return d.skip(self.number(*[0, 1, 2] * 4, 5, -1))

    def do_repeat(self, d):
        return d.repeat(self.number(*[1, 2, 3] * 4, 0))

    def do_repeat_for_ever(self, d):
        return d.repeat().take(self.number(7, 20))

    def do_shuffle(self, d):
        self.shuffled = True
        size, seed, anew = self.number(1, 3, 8, 100), self.number(1, 7, 42), self.number(None, True, False)
        return d.shuffle(size, seed=seed, reshuffle_each_iteration=anew)

    def do_shuffle_and_repeat(self, d):
        self.shuffled = True
        make = self.tf.data.experimental.shuffle_and_repeat
        return d.apply(make(self.number(2, 5, 100), count=self.number(1, 2, 3), seed=self.number(1, 7, 42)))

    def do_batch(self, d):
        return d.batch(self.number(1, 2, 3), drop_remainder=self.number(True, False))

    def do_unbatch(self, d):
        return d.unbatch()

    def do_padded(self, d):
        shapes = self.tf.nest.map_structure(
            lambda s: None if s.ndims is None else self.tf.TensorShape([None] * s.ndims),
            self.tf.data.get_output_shapes(d),
        )
        if any(s is None or s.ndims is None for s in self.tf.nest.flatten(shapes)):
            return d
        return d.padded_batch(self.number(2, 3), shapes)

    def do_prefetch(self, d):
        return d.prefetch(self.number(1, 3, -1))

    def do_shard(self, d):
        return d.shard(3, self.number(0, 1, 2))

    def do_cache(self, d):
        return d.cache()

    def do_concatenate(self, d):
        return d if self.shuffled else d.concatenate(d.take(2))  # see docs/differences.md

    def do_enumerate(self, d):
        return d.enumerate(self.number(0, 5))

    def do_zip(self, d):
        return self.Dataset.zip((d, self.source()))

    def mapped(self, structure):
        tf = self.tf
        factor = self.number(2, 3)

        def change(leaf):
            if leaf.dtype == tf.string:
                return tf.strings.join([leaf, tf.fill(tf.shape(leaf), "!")])
            return leaf if leaf.dtype == tf.bool else leaf * tf.cast(factor, leaf.dtype)

        kind = structure

        def apply(*element):
            element = element[0] if len(element) == 1 else element
            changed = tf.nest.map_structure(change, element)
            if kind == "pair":
                return changed, self.first(element)
            if kind == "dict":
                return {"b": changed, "a": self.first(element)}
            return changed

        return apply

    def do_map(self, d):
        return d.map(self.mapped(self.number("same", "pair", "dict")))

    def do_parallel_map(self, d):
        return d.map(self.mapped(self.number("same", "pair")), num_parallel_calls=self.number(1, 3, 4))

    def do_map_and_batch(self, d):
        function = self.mapped("same")
        make = self.tf.data.experimental.map_and_batch
        return d.apply(make(function, self.number(1, 3), num_parallel_calls=2, drop_remainder=self.number(True, False)))

    def do_bad_map(self, d):
        tf, limit = self.tf, self.number(2, 6)

        def apply(*element):
            with tf.control_dependencies(
                [tf.debugging.assert_less(self.first(*element), tf.constant(limit, tf.int64))]
            ):
                return tf.nest.map_structure(tf.identity, element)

        return d.map(apply)

    def do_ignore_errors(self, d):
        return d.apply(self.tf.data.experimental.ignore_errors())

    def do_filter(self, d):
        modulus, rest = self.number(2, 3), self.number(0, 1)
        return d.filter(lambda *e: self.tf.equal(self.first(*e) % modulus, rest))

    def do_take_while(self, d):
        limit = self.number(2, 8)
        return d.apply(self.tf.data.experimental.take_while(lambda *e: self.first(*e) < limit))

    def do_scan(self, d):
        def step(state, *element):
            total = state + self.first(*element)
            return total, (total, element[0])

        return d.apply(self.tf.data.experimental.scan(np.int64(1), step))

    def do_unique(self, d):
        if not self.is_number(d):
            return d
        return d.map(lambda x: x % 4).apply(self.tf.data.experimental.unique())

    def made_inside(self):
        modulus = self.number(3, 4)
        shuffled = self.number(True, False)

        def make(*element):
            n = self.first(*element) % modulus
            dataset = self.Dataset.range(n).map(lambda i: (i, n))
            return dataset.shuffle(3, seed=5) if shuffled else dataset

        return make

    def do_flat_map(self, d):
        return d.flat_map(self.made_inside())

    def do_interleave(self, d):
        calls = self.number(None, 2)
        return d.interleave(self.made_inside(), self.number(1, 2, 3), self.number(1, 2), num_parallel_calls=calls)

    def do_window(self, d):
        size, shift, stride = self.number(1, 2, 3), self.number(None, 1, 4), self.number(1, 2)
        windows = d.window(size, shift, stride, drop_remainder=self.number(True, False))
        zipped = self.Dataset.zip

        def joined(*window):
            window = window[0] if len(window) == 1 else window
            leaves = self.tf.nest.flatten(window)
            return (zipped(tuple(leaves)) if len(leaves) > 1 else leaves[0]).batch(size)

        return windows.flat_map(joined)


def found(tf, seed):
    """What there is to compare of a chain: its types and shapes, its elements, its errors."""
    with tf.Graph().as_default():
        try:
            dataset = Chain(tf, seed).grown()
            options = tf.data.Options()
            options.experimental_optimization.apply_default_optimizations = False
            dataset = dataset.with_options(options)
            element = tf.data.make_one_shot_iterator(dataset).get_next()
        except (TypeError, ValueError) as e:
            return {"refused": type(e).__name__}
        types = tf.nest.map_structure(lambda t: t.name, tf.data.get_output_types(dataset))
        shapes = tf.nest.map_structure(lambda s: str(s).replace("None", "?"), tf.data.get_output_shapes(dataset))
        with tf.Session() as sess:
            return {"types": plain(types), "shapes": plain(shapes), "elements": taken(tf, sess, element)}


def taken(tf, sess, element):
    elements, errors = [], 0
    while len(elements) < LIMIT and errors < ERRORS:
        try:
            elements.append(plain(sess.run(element)))
        except tf.errors.OutOfRangeError:
            break
        except tf.errors.OpError as e:
            elements.append(type(e).__name__)
            errors += 1
    return elements


def plain(value):
    """The value as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return value.decode("latin-1") if isinstance(value, bytes) else value
