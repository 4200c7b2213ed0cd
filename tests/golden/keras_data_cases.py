"""What prepares data for Keras models, on Headrace and on TensorFlow: ``CASES[name](keras)`` gives plain lists and numbers."""

import json
import random

import numpy as np

TEXTS = ["The cat sat on the mat.", "The dog ate my homework, the cat did not!", "", "a\tb\nc a"]


def tokenizer(**options):
    def case(keras):
        words = keras.preprocessing.text.Tokenizer(**options)
        words.fit_on_texts(TEXTS)
        unseen = [*TEXTS, "a cat ate the moon"]
        matrices = [words.texts_to_matrix(unseen, mode).round(6).tolist() for mode in MODES]
        sequences = words.texts_to_sequences(unseen)
        same = keras.preprocessing.text.tokenizer_from_json(words.to_json())
        config = same.get_config() | {name: json.loads(same.get_config()[name]) for name in TABLES}
        return [words.word_index, sequences, words.sequences_to_texts(sequences), matrices, config]

    return case


TABLES = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")  # as JSON, whose order may differ
MODES = ("binary", "count", "freq", "tfidf")


def lists_of_words(keras):
    words = keras.preprocessing.text.Tokenizer()
    words.fit_on_texts([["New York", "is", "big"], ["is", "it"]])
    return [words.word_index, words.texts_to_sequences([["it", "is", "New York"]])]


def of_sequences(keras):
    words = keras.preprocessing.text.Tokenizer(num_words=5)
    words.fit_on_sequences([[1, 2, 2], [4, 1]])
    return words.sequences_to_matrix([[1, 2, 7], []], "tfidf").round(6).tolist()


def text(name, *args, **options):
    return lambda keras: getattr(keras.preprocessing.text, name)(*args, **options)


def padded(*args, **options):
    def case(keras):
        found = keras.preprocessing.sequence.pad_sequences(*args, **options)
        return [str(found.dtype.kind), found.tolist()]

    return case


def skipgrams(drawn_from, *args, **options):
    def case(keras):
        random.seed(drawn_from)
        return keras.preprocessing.sequence.skipgrams(*args, **options)

    return case


def sampled_skipgrams(keras):
    table = keras.preprocessing.sequence.make_sampling_table(9, sampling_factor=0.1)
    random.seed(4)
    return keras.preprocessing.sequence.skipgrams([1, 8, 3, 8, 2, 5], 9, window_size=2, sampling_table=table)


def windows(**options):
    def case(keras):
        data = np.arange(40).reshape(20, 2)
        found = keras.preprocessing.sequence.TimeseriesGenerator(data, np.arange(20) * 10, **options)
        return [len(found), [[x.tolist(), y.tolist()] for x, y in (found[i] for i in range(len(found)))]]

    return case


def utils(name, *args, **options):
    return lambda keras: getattr(keras.utils, name)(*args, **options).tolist()


def images(count=7, size=4, channels=3):
    return (np.arange(count * size * size * channels) * 7 % 251).reshape(count, size, size, channels).astype(np.float32)


def transforms(**options):
    """The changes that a seed draws."""

    def case(keras):
        generator = keras.preprocessing.image.ImageDataGenerator(**options)
        drawn = [generator.get_random_transform((6, 8, 3), seed=seed) for seed in range(3)]
        plain = (
            "theta",
            "tx",
            "ty",
            "shear",
            "zx",
            "zy",
            "channel_shift_intensity",
            "flip_horizontal",
            "flip_vertical",
        )
        return [[None if one[name] is None else round(float(one[name]), 6) for name in plain] for one in drawn]

    return case


def flowed(epochs=2, flow_options=None, **options):
    def case(keras):
        generator = keras.preprocessing.image.ImageDataGenerator(**options)
        generator.fit(images())
        batches = generator.flow(images(), np.arange(7) % 2, batch_size=3, seed=5, **(flow_options or {}))
        found = [next(batches) for _ in range(epochs * len(batches))]
        return [[np.asarray(x, np.float64).round(3).ravel()[::5].tolist(), y.tolist()] for x, y in found]

    return case


def channel_shift(keras):
    return keras.preprocessing.image.apply_channel_shift(images(1)[0], 20.5, channel_axis=2).tolist()


CASES = {
    "tokenizer": tokenizer(),
    "tokenizer_limited": tokenizer(num_words=4),
    "tokenizer_unknown": tokenizer(num_words=5, oov_token="<UNK>"),
    "tokenizer_characters": tokenizer(char_level=True, lower=False),
    "tokenizer_split": tokenizer(filters=",", split="t"),
    "lists_of_words": lists_of_words,
    "of_sequences": of_sequences,
    "words": text("text_to_word_sequence", "Ab, c! D-e", filters=",!-"),
    "words_cased": text("text_to_word_sequence", "Ab, c! D-e;;F", lower=False, split=";"),
    "hashed": text("hashing_trick", "The quick brown fox the fox", 7, hash_function="md5"),
    "hashed_by_length": text("hashing_trick", "The quick brown fox", 4, hash_function=len),
    "padded": padded([[1, 2, 3], [], [4]]),
    "padded_behind": padded([[1, 2, 3], [4]], maxlen=2, padding="post", truncating="post", value=9),
    "padded_rows": padded([[[1, 2], [3, 4]], [[5, 6]]], maxlen=3, dtype="float32", value=0.5),
    "padded_to_nothing": padded([[], []]),
    "sampling_table": lambda keras: keras.preprocessing.sequence.make_sampling_table(12, 0.01).round(9).tolist(),
    "skipgrams": skipgrams(3, [1, 2, 0, 3, 4], 9, window_size=2, seed=8),
    "skipgrams_unseeded": skipgrams(3, [1, 2, 0, 3, 4], 9, window_size=1, negative_samples=0.5),
    "skipgrams_categorical": skipgrams(3, [1, 2, 3], 9, categorical=True, shuffle=False),
    "skipgrams_sampled": sampled_skipgrams,
    "windows": windows(length=4, batch_size=5),
    "windows_strided": windows(length=6, sampling_rate=2, stride=3, start_index=2, end_index=17, batch_size=2),
    "windows_reversed": windows(length=3, reverse=True, batch_size=8),
    "categorical": utils("to_categorical", [[0, 3], [1, 1]]),
    "categorical_column": utils("to_categorical", [[2], [0]], num_classes=4, dtype="int32"),
    "normalized": utils("normalize", np.arange(6.0).reshape(2, 3) - 2),
    "normalized_by_sum": utils("normalize", np.arange(6.0).reshape(2, 3) - 2, axis=0, order=1),
    "transforms": transforms(
        rotation_range=20, width_shift_range=0.3, height_shift_range=0.2, shear_range=5, zoom_range=0.1,
        channel_shift_range=7.0, horizontal_flip=True, vertical_flip=True,
    ),
    "transforms_by_pixels": transforms(width_shift_range=4, height_shift_range=[1, 3], zoom_range=(0.5, 0.9)),
    "flowed": flowed(horizontal_flip=True, vertical_flip=True, rescale=0.1),
    "flowed_in_order": flowed(flow_options={"shuffle": False}, featurewise_center=True, featurewise_std_normalization=True),
    "flowed_by_sample": flowed(samplewise_center=True, samplewise_std_normalization=True, channel_shift_range=9.0),
    "flowed_part": flowed(flow_options={"subset": "training"}, validation_split=0.3),
    "flowed_validation": flowed(flow_options={"subset": "validation"}, validation_split=0.3),
    "channel_shift": channel_shift,
}  # fmt: skip
