"""A family of chains of datasets, grown from a seed; the same for any `tf`."""

import os
import struct
import tempfile
import zlib
from random import Random

import numpy as np

LEFT_OUT = {
    170: "TensorFlow refuses the shapes that it has computed itself",
    249: "an error in the function of group_by_window: see docs/differences.md",
    424: "an error before a cache in a file: see docs/differences.md",
    593: "an error in the function of group_by_window: see docs/differences.md",
}
SEEDS = [seed for seed in range(1000 + len(LEFT_OUT)) if seed not in LEFT_OUT]
LIMIT = 24  # elements taken of each
ERRORS = 2  # after so many a chain is left

TEXT = [b"to be\nor not\nto be\n", b"that is\n\nthe question", b""]
TABLES = ["a,b,c\n1,x,1.5\n2,,2.5\n3,z,\n4,w,0.25\n", 'a,b,c\n5,"q,r",-1\n6,s,7\n']


class Chain:
    """Grows one chain.  Every decision depends on the seed and on what is known of the elements.

    ``once``: the chain cannot be used twice, or each use gives something else.  ``unordered``: what it gives has no order.
    ``stuck``: an error may come for ever, as from a file that is not there.
    ``resumable``: it is grown only of what gives the same again when it begins again.
    """

    def __init__(self, tf, seed, folder, resumable=False):
        self.tf, self.random, self.folder, self.resumable = tf, Random(seed), folder, resumable
        self.Dataset, self.experimental = tf.data.Dataset, tf.data.experimental
        self.once = self.unordered = self.stuck = False
        self.files = 0
        self.steps = []  # what it was grown of

    def number(self, *choices):
        return self.random.choice(choices)

    def grown(self):
        dataset = self.source()
        for _ in range(self.random.randint(1, 6)):
            dataset = self.more(dataset)
        return self.do_unordered(dataset) if self.random.random() < 0.08 else dataset

    # ---- sources

    def source(self):
        self.steps.append(self.random.choice(SOURCES))
        return getattr(self, f"from_{self.steps[-1]}")(self.number(3, 7, 7, 12, 20, 0))

    def from_range(self, n):
        return self.Dataset.range(n)

    def from_steps(self, n):
        return self.Dataset.range(self.number(-3, 2, 9), self.number(8, 10), self.number(1, 2, -3))

    def from_rows(self, n):
        return self.Dataset.from_tensor_slices(np.arange(n * 2, dtype=np.float32).reshape(n, 2) / 4)

    def from_words(self, n):
        return self.Dataset.from_tensor_slices(([b"a", b"bc", b"", b"def"], [1, 2, 3, 4]))

    def from_dicts(self, n):
        return self.Dataset.from_tensor_slices({"y": np.arange(n) % 3 == 0, "x": np.arange(n)})

    def from_nested(self, n):
        small = np.arange(n).astype(np.uint8)
        return self.Dataset.from_tensor_slices((np.arange(n) / 8, {"b": (small, small[:, None]), "a": small * 2}))

    def from_one(self, n):
        return self.Dataset.from_tensors((np.int32(5), [1.5, -2.0]))

    def from_ragged(self, n):
        return self.Dataset.range(n).map(lambda i: self.tf.range((i * 7) % 5))

    def from_sparse(self, n):
        indices = np.array([[i, i % 3] for i in range(0, n, 2)], np.int64).reshape(-1, 2)
        sparse = self.tf.SparseTensorValue(indices, np.arange(len(indices), dtype=np.float32), [n, 3])
        return self.Dataset.from_tensor_slices((sparse, np.arange(n)) if self.number(True, False) else sparse)

    def from_generator(self, n):
        return self.Dataset.from_generator(lambda: iter(range(n)), self.tf.int32, [])

    def from_pairs(self, n):
        types = (self.tf.int64, self.tf.string)
        return self.Dataset.from_generator(lambda: ((i, "w" * i) for i in range(n)), types)

    def from_lists(self, n):
        return self.Dataset.from_generator(lambda: ([i] * (i % 4) for i in range(n)), self.tf.int64, [None])

    def from_failing(self, n):
        def rows():
            for i in range(n):
                yield i if i != 4 else "no number"

        return self.Dataset.from_generator(rows, self.tf.int32, [])

    def from_counter(self, n):
        dtype = self.number(self.tf.int64, self.tf.int32)
        return self.experimental.Counter(self.number(0, 5), self.number(1, -2), dtype).take(n)

    def from_random(self, n):
        return self.experimental.RandomDataset(seed=self.number(3, 4)).take(n).map(lambda x: x % 1000)

    def written(self, *contents):
        paths = []
        for content in contents:
            self.files += 1
            paths.append(os.path.join(self.folder, f"file{self.files}"))
            with open(paths[-1], "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
        return paths

    def from_text(self, n):
        paths = self.written(*TEXT)
        self.stuck = True
        names = self.number(paths, paths[0], self.Dataset.from_tensor_slices(paths), [*paths, self.folder + "/none"])
        return self.tf.data.TextLineDataset(names, num_parallel_reads=self.number(None, 2))

    def from_zipped_text(self, n):
        self.stuck = True
        packed = [zlib.compress(text) for text in TEXT]
        return self.tf.data.TextLineDataset(self.written(*packed), self.number("ZLIB", "ZLIB", ""))

    def from_fixed(self, n):
        self.stuck = True
        paths = self.written(bytes(range(65, 65 + 11)), bytes(range(97, 97 + self.number(11, 12))))
        return self.tf.data.FixedLengthRecordDataset(paths, 3, self.number(None, 2), self.number(0, 0, 1))

    def from_names(self, n):
        self.once = True
        self.written(*TEXT)
        order = {"shuffle": False} if self.number(True, False) else {"seed": self.number(1, 2)}
        names = self.Dataset.list_files(os.path.join(self.folder, "file*"), **order)
        return names.map(lambda name: self.tf.strings.substr(name, len(self.folder) + 1, 5))

    def records(self, n):
        """TFRecord files of Examples, the last one damaged where that is drawn."""
        tf, paths = self.tf, []
        for part in range(2):
            (path,) = self.written(b"")
            with tf.python_io.TFRecordWriter(path) as writer:
                for i in range(part, n, 2):
                    features = {
                        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                        "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"s%d" % j for j in range(i % 3)])),
                    }
                    example = tf.train.Example(features=tf.train.Features(feature=features))
                    writer.write(example.SerializeToString(deterministic=True))
            paths.append(path)
        return paths

    def features(self):
        tf = self.tf
        return {"n": tf.FixedLenFeature([], tf.int64), "s": tf.VarLenFeature(tf.string)}

    def from_records(self, n):
        paths = self.records(n)
        if n > 2 and self.number(False, False, True):
            self.stuck = True
            with open(paths[1], "r+b") as file:
                file.seek(16)
                file.write(struct.pack("B", 255))
        records = self.tf.data.TFRecordDataset(paths, num_parallel_reads=self.number(None, 2))
        return records.map(lambda one: self.tf.parse_single_example(one, self.features()))

    def from_examples(self, n):
        batches = self.tf.data.TFRecordDataset(self.records(n)).batch(self.number(2, 3))
        return batches.apply(self.experimental.parse_example_dataset(self.features(), self.number(1, 2)))

    def from_batched_examples(self, n):
        self.once = True
        return self.experimental.make_batched_features_dataset(
            self.records(max(n, 3)), 2, self.features(), reader=self.tf.data.TFRecordDataset, num_epochs=2,
            shuffle=self.number(True, False), shuffle_seed=4, shuffle_buffer_size=5, reader_num_threads=1,
        )  # fmt: skip

    def from_csv(self, n):
        tf = self.tf
        bad = self.number([], [], ["a,b,c\n9,x,nothing\n10,y\n11,z,3\n"])
        defaults = self.number([tf.int32, "", [0.5]], [[7], [""], [0.5]], [tf.int64, tf.string, tf.float64])
        columns = self.number(None, None, [0, 2])
        if columns:
            defaults = [defaults[i] for i in columns]
        paths = self.written(*TABLES, *bad)
        return self.experimental.CsvDataset(paths, defaults, header=True, select_cols=columns)

    def from_csv_table(self, n):
        self.once = True
        return self.experimental.make_csv_dataset(
            self.written(*TABLES), self.number(2, 3), label_name=self.number(None, "a"), num_epochs=self.number(1, 2),
            shuffle=self.number(True, False), shuffle_seed=3, shuffle_buffer_size=4,
        )  # fmt: skip

    # ---- what is known

    def leaves(self, dataset):
        types = self.tf.nest.flatten(self.tf.data.get_output_types(dataset))
        shapes = self.tf.nest.flatten(self.tf.data.get_output_shapes(dataset))
        return list(zip(types, shapes, strict=True))

    def is_plain(self, dataset):
        return not isinstance(self.tf.data.get_output_types(dataset), (tuple, dict))

    def is_number(self, dataset):
        """Whether an element is one integer."""
        dtype, shape = self.leaves(dataset)[0]
        return self.is_plain(dataset) and dtype.is_integer and shape.ndims == 0

    def is_dense(self, dataset):
        return all(c is self.tf.Tensor for c in self.tf.nest.flatten(self.tf.data.get_output_classes(dataset)))

    def first(self, *element):
        """An integer made of an element."""
        tf = self.tf
        leaf = tf.nest.flatten(element)[0]
        leaf = leaf.values if isinstance(leaf, tf.SparseTensor) else leaf
        if leaf.dtype == tf.string:
            return tf.cast(tf.reduce_sum(tf.strings.length(leaf)), tf.int64)
        return tf.cast(tf.reduce_sum(tf.cast(leaf, tf.float32)), tf.int64)

    # ---- one more

    def more(self, dataset):
        self.steps.append(self.random.choice(TRANSFORMATIONS))
        return getattr(self, f"do_{self.steps[-1]}")(dataset)

    def do_take(self, d):
        return d.take(self.number(-1, 5, 9, 3, 0))

    def do_skip(self, d):
        return d.skip(self.number(*[0, 1, 2] * 4, 5, -1))

    def do_repeat(self, d):
        return d.repeat(self.number(*[1, 2, 3] * 4, 0))

    def do_repeat_for_ever(self, d):
        return d.repeat().take(self.number(7, 20))

    def do_shuffle(self, d):
        self.once = True
        size, seed, anew = self.number(1, 3, 8, 100), self.number(1, 7, 42), self.number(None, True, False)
        return d.shuffle(size, seed=seed, reshuffle_each_iteration=anew)

    def do_shuffle_and_repeat(self, d):
        self.once = True
        make = self.experimental.shuffle_and_repeat
        return d.apply(make(self.number(2, 5, 100), count=self.number(1, 2, 3), seed=self.number(1, 7, 42)))

    def do_batch(self, d):
        return d.batch(self.number(1, 2, 3), drop_remainder=self.number(True, False))

    def do_unbatch(self, d):
        if any(shape.ndims == 0 for _, shape in self.leaves(d)) and self.number(True, True, False):
            d = d.batch(2)
        return d.unbatch()

    def do_padded(self, d):
        shapes = self.tf.nest.map_structure(lambda s: s.ndims, self.tf.data.get_output_shapes(d))
        if None in self.tf.nest.flatten(shapes):
            return d
        size = self.number(None, None, 6)
        shapes = self.tf.nest.map_structure(lambda n: self.tf.TensorShape([size] * n), shapes)
        values = None
        if self.number(True, False) and self.is_dense(d):
            values = self.tf.nest.map_structure(
                lambda t: "-" if t == self.tf.string else np.array(1, t.as_numpy_dtype),
                self.tf.data.get_output_types(d),
            )
        return d.padded_batch(self.number(2, 3), shapes, values, drop_remainder=self.number(False, False, True))

    def do_prefetch(self, d):
        return d.prefetch(self.number(1, 3, -1))

    def do_shard(self, d):
        return d.shard(self.number(2, 3), self.number(0, 1))

    def do_cache(self, d):
        return d.cache()

    def do_file_cache(self, d):
        self.once = True
        self.files += 1
        return d.cache(os.path.join(self.folder, f"cache{self.files}"))

    def do_concatenate(self, d):
        return d if self.once else d.concatenate(d.take(2))  # see docs/differences.md

    def do_enumerate(self, d):
        return d.enumerate(self.number(0, 5))

    def do_zip(self, d):
        other = self.source()
        return self.Dataset.zip(self.number((d, other), {"z": d, "a": other}, (other, (d,))))

    def do_choose(self, d):
        if self.once:
            return d
        which = self.Dataset.from_tensor_slices(np.array([1, 0, 0, 1, 1, 0, 1, 0, 1, self.number(0, 0, 2)], np.int64))
        return self.experimental.choose_from_datasets([d, d.skip(2)], which.repeat(self.number(1, 2)))

    def do_sample(self, d):
        if self.once:
            return d
        self.once = True
        weights = self.number(None, [0.3, 0.7], [1.0, 0.0])
        return self.experimental.sample_from_datasets([d, d.take(3)], weights, seed=self.number(5, 6))

    def do_resample(self, d):
        """Drawn with other numbers than TensorFlow's, so only where nothing is left to chance."""
        dist = [0.5, 0.25, 0.25]
        make = self.experimental.rejection_resample(
            lambda *e: self.tf.cast(self.first(*e) % 3, self.tf.int32), dist, dist, seed=1
        )
        return d.apply(make)

    def mapped(self, kind):
        tf = self.tf
        factor = self.number(2, 3)

        def changed(leaf):
            if isinstance(leaf, tf.SparseTensor):
                return tf.SparseTensor(leaf.indices, changed(leaf.values), leaf.dense_shape)
            if leaf.dtype == tf.string:
                return tf.strings.join([leaf, tf.fill(tf.shape(leaf), "!")])
            return leaf if leaf.dtype == tf.bool else leaf * tf.cast(factor, leaf.dtype)

        def apply(*element):
            element = element[0] if len(element) == 1 else element
            new = tf.nest.map_structure(changed, element)
            if kind == "pair":
                return new, self.first(element)
            if kind == "dict":
                return {"b": new, "a": self.first(element)}
            if kind == "nested":
                return ((self.first(element), new), {"c": tf.constant([1, 2], tf.int16)})
            if kind == "list":
                return [self.first(element), 7]
            return new

        return apply

    def do_map(self, d):
        return d.map(self.mapped(self.number("same", "same", "pair", "dict", "nested", "list")))

    def do_parallel_map(self, d):
        return d.map(self.mapped(self.number("same", "pair")), num_parallel_calls=self.number(1, 3, 4, -1))

    def do_unordered(self, d):
        self.unordered = True
        options = self.tf.data.Options()
        options.experimental_deterministic = False
        d = d.take(LIMIT - 4).with_options(options)
        return d.map(self.mapped("pair"), num_parallel_calls=self.number(2, 3, -1)).prefetch(self.number(1, 2))

    def do_flow(self, d):
        """A conditional and a loop in the function."""
        tf = self.tf

        def apply(*element):
            n = self.first(*element)
            half = tf.cond(n % 2 < 1, lambda: n // 2, lambda: 3 * n + 1)
            return tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + half), [0, n])[1], element

        return d.map(apply)

    def do_table(self, d):
        tf = self.tf
        keys = tf.constant([0, 1, 2, 3, 4], tf.int64)
        pairs = tf.lookup.KeyValueTensorInitializer(keys, tf.constant(["zero", "one", "two", "three", "four"]))
        table = tf.lookup.StaticHashTable(pairs, "many")
        return d.map(lambda *e: (table.lookup(self.first(*e) % 6), e))

    def do_python(self, d):
        if self.resumable:
            return d
        return d.map(lambda *e: self.tf.py_func(lambda n: n * n + 1, [self.first(*e)], self.tf.int64))

    def do_to_sparse(self, d):
        tf = self.tf

        def apply(*element):
            n = tf.cast(self.first(*element), tf.float32)
            return tf.SparseTensor([[1], [3]], [n, n * n], [4])

        return d.map(apply)

    def do_to_rows(self, d):
        """Vectors of different lengths."""
        return d.map(lambda *e: self.tf.fill([self.tf.cast(self.first(*e) % 5, self.tf.int32)], self.first(*e)))

    def do_to_words(self, d):
        return d.map(lambda *e: self.tf.string_split([self.tf.strings.as_string(self.first(*e) * 1001)], "1").values)

    def do_map_and_batch(self, d):
        function = self.mapped("same")
        make = self.experimental.map_and_batch
        calls = {self.number("num_parallel_calls", "num_parallel_batches"): 2}
        return d.apply(make(function, self.number(1, 3), drop_remainder=self.number(True, False), **calls))

    def failing(self, limit):
        """A function that gives an integer, and fails for some elements in one of several ways."""
        tf, way = self.tf, self.number("assert", "gather", "divide", "parse")

        def apply(*element):
            n = self.first(*element)
            if way == "assert":
                with tf.control_dependencies([tf.debugging.assert_less(n, tf.constant(limit, tf.int64))]):
                    return tf.identity(n)
            if way == "gather":
                return tf.gather(tf.range(tf.constant(limit, tf.int64)), n)
            if way == "divide":
                return 12 // (n - limit)
            text = tf.where(tf.less(n, limit), "3", "three")
            return tf.cast(tf.strings.to_number(text, tf.int32), tf.int64)

        return apply

    def do_bad_map(self, d):
        fails = self.failing(self.number(2, 6))
        parallel = self.number(None, None, 3)
        return d.map(lambda *e: (fails(*e), e), num_parallel_calls=parallel)

    def do_bad_filter(self, d):
        fails = self.failing(self.number(2, 6))
        return d.filter(lambda *e: fails(*e) > -5)

    def do_bad_flat_map(self, d):
        fails = self.failing(self.number(2, 6))
        return d.flat_map(lambda *e: self.Dataset.range(fails(*e) % 3))

    def do_bad_scan(self, d):
        fails = self.failing(self.number(2, 6))
        return d.apply(self.experimental.scan(np.int64(0), lambda s, *e: (s + 1, (s, fails(*e)))))

    def do_ignore_errors(self, d):
        return d if self.stuck else d.apply(self.experimental.ignore_errors())

    def do_ignored(self, d):
        return self.do_ignore_errors(self.do_bad_map(d))

    def do_filter(self, d):
        modulus, rest = self.number(2, 3), self.number(0, 1)
        return d.filter(lambda *e: self.tf.equal(self.first(*e) % modulus, rest))

    def do_take_while(self, d):
        limit = self.number(4, 12)
        return d.apply(self.experimental.take_while(lambda *e: self.first(*e) < limit))

    def do_scan(self, d):
        def step(state, *element):
            total = state + self.first(*element)
            return total, (total, element[0])

        return d.apply(self.experimental.scan(np.int64(1), step))

    def do_growing_scan(self, d):
        """The state becomes longer."""
        tf = self.tf

        def step(state, *element):
            longer = tf.concat([state["seen"], [self.first(*element)]], 0)
            return {"seen": longer, "n": state["n"] + 1}, longer

        state = {"seen": tf.constant([], tf.int64), "n": tf.constant(0)}
        return d.apply(self.experimental.scan(state, step))

    def do_unique(self, d):
        if not self.is_number(d):
            return d.map(lambda *e: self.first(*e) % 5).apply(self.experimental.unique())
        return d.map(lambda x: x % 4).apply(self.experimental.unique())

    def do_reduce(self, d):
        """The dataset of what a reduction gives, and of one element."""
        tf = self.tf
        d = d.take(LIMIT)
        if self.once or self.number(True, True, False):
            state = (np.int64(0), np.int64(0))
            return self.Dataset.from_tensors(d.reduce(state, lambda s, *e: (s[0] + 1, s[1] + self.first(*e))))
        if not self.is_dense(d):
            return d
        one = self.experimental.get_single_element(d.take(self.number(1, 1, 2)))
        return self.Dataset.from_tensors((tf.constant(1), one)).repeat(2)

    def do_group_by_window(self, d):
        modulus, size = self.number(2, 3), self.number(2, 3)

        def reduced(key, window):
            if size == 3 and self.is_dense(d):
                return window.take(2)
            return window.batch(size)

        window = {"window_size": size} if self.number(True, False) else {"window_size_func": lambda key: key + 1}
        make = self.experimental.group_by_window
        return d.apply(make(lambda *e: self.first(*e) % modulus, reduced, **window))

    def do_group_by_reducer(self, d):
        tf, modulus = self.tf, self.number(2, 3)
        reducer = self.experimental.Reducer(
            lambda key: (key, tf.constant(0, tf.int64)),
            lambda state, *e: (state[0], state[1] + self.first(*e)),
            lambda key, total: {"key": key, "total": total},
        )
        return d.apply(self.experimental.group_by_reducer(lambda *e: self.first(*e) % modulus, reducer))

    def do_bucket(self, d):
        if any(shape.ndims is None for _, shape in self.leaves(d)) or self.leaves(d)[0][1].ndims != 1:
            d = self.number(self.do_to_rows, self.do_to_words)(d)
        options = self.number({}, {}, {"drop_remainder": True}, {"pad_to_bucket_boundary": True}, {"no_padding": True})
        shapes = self.tf.nest.map_structure(
            lambda s: self.tf.TensorShape([None] * s.ndims), self.tf.data.get_output_shapes(d)
        )
        make = self.experimental.bucket_by_sequence_length
        length = lambda *e: self.tf.size(self.tf.nest.flatten(e)[0])  # noqa: E731
        return d.apply(make(length, self.number([2, 4], [3]), [2, 3, 2][: self.number(3, 3, 2)], shapes, **options))

    def do_sparse_batch(self, d):
        if not self.is_plain(d) or not self.is_dense(d) or self.leaves(d)[0][1].ndims != 1:
            d = self.do_to_rows(d)
        return d.apply(self.experimental.dense_to_sparse_batch(self.number(2, 3), [self.number(None, 5, 3)]))

    def made_inside(self, *kinds):
        modulus, kind = self.number(3, 4), self.number("plain", "shuffled", "batched", *kinds)
        fails = self.failing(2)

        def make(*element):
            n = self.first(*element) % modulus
            dataset = self.Dataset.range(n).map(lambda i: (i, n))
            if kind == "failing":
                return dataset.map(lambda i, n: (i, fails(i)))
            if kind == "batched":
                return dataset.batch(2).prefetch(1)
            return dataset.shuffle(3, seed=5) if kind == "shuffled" else dataset

        return make

    def do_flat_map(self, d):
        return d.flat_map(self.made_inside("failing"))

    def do_interleave(self, d):
        cycle, calls = self.number(1, 2, 3), self.number(None, None, 1, -1)
        return d.interleave(self.made_inside("failing"), cycle, self.number(1, 2), num_parallel_calls=calls)

    def do_parallel_interleave(self, d):
        make = self.experimental.parallel_interleave
        return d.apply(make(self.made_inside(), self.number(1, 2, 3), self.number(1, 2)))

    def do_window(self, d):
        size, shift, stride = self.number(1, 2, 3), self.number(None, 1, 4), self.number(1, 2)
        windows = d.window(size, shift, stride, drop_remainder=self.number(True, False))
        zipped = self.Dataset.zip

        def joined(*window):
            window = window[0] if len(window) == 1 else window
            leaves = self.tf.nest.flatten(window)
            return (zipped(tuple(leaves)) if len(leaves) > 1 else leaves[0]).batch(size)

        return windows.flat_map(joined)


SOURCES = [name.removeprefix("from_") for name in vars(Chain) if name.startswith("from_")]
TRANSFORMATIONS = [
    name.removeprefix("do_") for name in vars(Chain) if name.startswith("do_") and name != "do_unordered"
]


def found(tf, seed):
    """What there is to compare of a chain: its types and shapes, its elements, its errors."""
    with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        chain = Chain(tf, seed, folder)
        try:
            dataset = chain.grown()
            options = tf.data.Options()
            options.experimental_optimization.apply_default_optimizations = False
            dataset = dataset.with_options(options)
            iterator = tf.data.make_initializable_iterator(dataset)
            count = tf.data.experimental.cardinality(dataset)
        except (TypeError, ValueError) as e:
            return {"refused": type(e).__name__}
        of = tf.data
        types = tf.nest.map_structure(lambda t: t.name, of.get_output_types(dataset))
        shapes = tf.nest.map_structure(lambda s: str(s).replace("None", "?"), of.get_output_shapes(dataset))
        classes = tf.nest.map_structure(lambda c: c.__name__, of.get_output_classes(dataset))
        static = {"types": plain(types), "shapes": plain(shapes), "classes": plain(classes)}
        with tf.Session() as sess:
            sess.run(tf.tables_initializer())
            try:
                sess.run(iterator.initializer)
            except tf.errors.OpError as e:
                return {**static, "refused": type(e).__name__}
            elements, dtypes = taken(tf, sess, iterator.get_next(), None if chain.unordered else ERRORS)
            if chain.unordered:
                elements.sort(key=str)
            return {**static, "count": int(sess.run(count)), "elements": elements, "dtypes": dtypes}


def taken(tf, sess, element, most_errors=None, limit=LIMIT):
    """Elements as JSON has them, and the names of errors; and the types that arrays have."""
    elements, dtypes, errors = [], [], 0
    while len(elements) < limit and errors != most_errors:
        try:
            value = sess.run(element)
            elements.append(plain(value))
            kinds = [getattr(one, "dtype", type(one)) for one in tf.nest.flatten(value)]
            kinds = [kind.__name__ if isinstance(kind, type) else str(kind) for kind in kinds]
            if kinds not in dtypes:
                dtypes.append(kinds)
        except tf.errors.OutOfRangeError:
            break
        except tf.errors.OpError as e:
            elements.append(type(e).__name__)
            errors += 1
    return elements, dtypes


def plain(value):
    """The value as JSON has it; of an array without numbers, its shape."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray) and not value.size:
        return {"shape": list(value.shape)}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return value.decode("latin-1") if isinstance(value, bytes) else value
