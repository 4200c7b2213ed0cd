"""Sequences of different lengths as one array, pairs of near words, and windows of a time series."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

from headrace.library.keras.utils.sequence import Sequence


def pad_sequences(
    sequences: Any, maxlen: int | None = None, dtype: Any = "int32", padding: str = "pre", truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:  # fmt: skip
    """Puts sequences of different lengths into one array: short ones are filled up, long ones cut.

    Args:
      sequences: A list of sequences, whose elements all have one shape.
      maxlen: The length of the rows; None for the longest sequence.
      dtype: The type of the array.
      padding: Where short sequences are filled up: ``"pre"`` in front, ``"post"`` behind.
      truncating: Where long sequences are cut: ``"pre"`` in front, ``"post"`` behind.
      value: What fills up.

    Returns:
      An array, [sequences, maxlen] and the shape of an element.

    >>> tf.keras.preprocessing.sequence.pad_sequences([[1, 2, 3], [4]], maxlen=2)
    array([[2, 3],
           [0, 4]], dtype=int32)
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError(f"`sequences` must be a list of sequences, got a {type(sequences).__name__}")
    for name, given in (("Padding", padding), ("Truncating", truncating)):
        if given not in ("pre", "post"):
            raise ValueError(f'{name} type "{given}" not understood: accepted are "pre" and "post"')
    if odd := [one for one in sequences if not hasattr(one, "__len__")]:
        raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {odd[0]}")
    if maxlen is None:
        maxlen = max((len(one) for one in sequences), default=0)
    element = next((np.asarray(one).shape[1:] for one in sequences if len(one)), ())
    if isinstance(value, str) and not (dtype is object or np.issubdtype(dtype, np.str_)):
        raise ValueError(f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}; dtype=object is")
    padded = np.full((len(sequences), maxlen, *element), value, dtype=dtype)
    for i, one in enumerate(sequences):
        cut = np.asarray(one[-maxlen:] if truncating == "pre" else one[:maxlen], dtype=dtype)
        if not len(cut) or not maxlen:
            continue
        if cut.shape[1:] != element:
            raise ValueError(
                f"Shape of sample {cut.shape[1:]} of sequence at position {i} is different from expected shape {element}"
            )
        row = slice(-len(cut), None) if padding == "pre" else slice(0, len(cut))
        padded[i, row] = cut
    return padded


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """The probability with which the word of each rank is used by `skipgrams`: frequent words are left out more often.

    Word frequencies are taken to follow Zipf's law.

    Args:
      size: The number of words.
      sampling_factor: The frequency from which on words are left out; word2vec's constant.

    Returns:
      An array of `size` probabilities, by rank.

    >>> tf.keras.preprocessing.sequence.make_sampling_table(3).round(4)
    array([0.0032, 0.0032, 0.0055])
    """
    rank = np.arange(size)
    rank[:1] = 1
    inverse = rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank)  # 0.577: Euler's constant
    expected = sampling_factor * inverse
    return np.minimum(1.0, expected / np.sqrt(expected))


def skipgrams(
    sequence: Any, vocabulary_size: int, window_size: int = 4, negative_samples: float = 1.0, shuffle: bool = True,
    categorical: bool = False, sampling_table: Any = None, seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:  # fmt: skip
    """Pairs of words that are near each other, with label 1, and of a word and any other, with label 0.

    Python's ``random`` draws; the number 0 is no word.

    Args:
      sequence: A list of word numbers.
      vocabulary_size: The number of words, and 1.
      window_size: How far apart two near words may be.
      negative_samples: How many pairs with label 0 there are for each with label 1.
      shuffle: Whether the pairs are shuffled.
      categorical: True for labels ``[0, 1]`` and ``[1, 0]`` in place of 1 and 0.
      sampling_table: With which probability the word of each number is used, from `make_sampling_table`; None for all.
      seed: The seed of the shuffling; None for a random one.

    Returns:
      A list of pairs and a list of labels.

    >>> couples, labels = tf.keras.preprocessing.sequence.skipgrams([1, 2], 5, negative_samples=0, seed=1)
    >>> sorted(couples), labels
    ([[1, 2], [2, 1]], [1, 1])
    """
    couples = _near_pairs(sequence, window_size, sampling_table)
    labels: list[Any] = [[0, 1] if categorical else 1 for _ in couples]
    if negative_samples > 0:
        count = int(len(labels) * negative_samples)
        words = [word for word, _ in couples]
        random.shuffle(words)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0 for _ in range(count)]
    if shuffle:
        if seed is None:
            seed = random.randint(0, int(10e6))
        for shuffled in (couples, labels):
            random.seed(seed)
            random.shuffle(shuffled)
    return couples, labels


def _near_pairs(sequence: Any, window_size: int, sampling_table: Any) -> list[list[int]]:
    pairs = []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                pairs.append([word, sequence[j]])
    return pairs


class TimeseriesGenerator(Sequence):
    """Batches of windows of a series of measurements, each with the target of the moment after it.

    Args:
      data: The measurements, with time as the first dimension.
      targets: The target of each moment, as many as there are measurements.
      length: How many moments a window goes back.
      sampling_rate: How far apart the moments are that are taken from a window.
      stride: How far apart windows begin.
      start_index: The first moment that is used.
      end_index: The last moment that is used; None for the last one there is.
      shuffle: True draws windows at random, else they come in order.
      reverse: Whether the moments of a window are given from the last to the first.
      batch_size: How many windows a batch has.

    >>> data = np.arange(6).reshape(6, 1)
    >>> windows = tf.keras.preprocessing.sequence.TimeseriesGenerator(data, data, length=3, batch_size=2)
    >>> x, y = windows[0]
    >>> x[:, :, 0].tolist(), y[:, 0].tolist()
    ([[0, 1, 2], [1, 2, 3]], [3, 4])
    """

    def __init__(
        self, data: Any, targets: Any, length: int, sampling_rate: int = 1, stride: int = 1, start_index: int = 0,
        end_index: int | None = None, shuffle: bool = False, reverse: bool = False, batch_size: int = 128,
    ) -> None:  # fmt: skip
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length. Data length is {len(data)} while target length is"
                f" {len(targets)}"
            )
        self.data = data
        self.targets = targets
        self.length = length
        self.sampling_rate = sampling_rate
        self.stride = stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle = shuffle
        self.reverse = reverse
        self.batch_size = batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, as no part of the"
                " sequence would be left to be used as current step."
            )

    def __len__(self) -> int:
        step = self.batch_size * self.stride
        return (self.end_index - self.start_index + step) // step

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(first, min(first + self.batch_size * self.stride, self.end_index + 1), self.stride)
        samples = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        targets = np.array([self.targets[row] for row in rows])
        return samples[:, ::-1] if self.reverse else samples, targets

    def get_config(self) -> dict[str, Any]:
        """The arguments of the generator, with data and targets as JSON.

        Returns:
          A dict.
        """
        names = ("length", "sampling_rate", "stride", "start_index", "end_index", "shuffle", "reverse", "batch_size")
        config = {name: getattr(self, name) for name in names}
        return {"data": _as_json(self.data, "Data"), "targets": _as_json(self.targets, "Targets"), **config}

    def to_json(self, **kwargs: Any) -> str:
        """The generator as JSON.

        Args:
          **kwargs: Arguments of ``json.dumps``.

        Returns:
          A string.
        """
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def _as_json(values: Any, name: str) -> str:
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    try:
        return json.dumps(plain)
    except TypeError:
        raise TypeError(f"{name} cannot be written as JSON: {plain!r}") from None
