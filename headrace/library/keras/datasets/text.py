"""Texts as lists of word numbers: film reviews of IMDB, news of Reuters."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.library.keras.datasets.files import ORIGIN, data_path, read_json, read_npz, shuffled
from headrace.library.keras.datasets.plain_pickle import object_array

Arrays = tuple[np.ndarray, np.ndarray]


def load_imdb(
    path: str = "imdb.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None, seed: int = 113,
    start_char: int | None = 1, oov_char: int | None = 2, index_from: int = 3, **kwargs: Any,
) -> tuple[Arrays, Arrays]:  # fmt: skip
    """25,000 film reviews to train with and 25,000 to test with, each good (1) or bad (0), as lists of word numbers.

    Args:
      path: The path of ``imdb.npz``, or its name in ``~/.keras/datasets``. Nothing is downloaded.
      num_words: Words from this number on are left out; None for none. Frequent words have small numbers.
      skip_top: Words below this number are left out.
      maxlen: Longer reviews are left out; None for none.
      seed: The seed of the order.
      start_char: The number with which each review begins; None for none.
      oov_char: The number that stands for words that are left out; None for none.
      index_from: What is added to the numbers of all words.
      **kwargs: None are accepted.

    Returns:
      Two pairs of reviews, an array of lists, and labels, an array of ints.

    Example: ``(x_train, y_train), (x_test, y_test) = tf.keras.datasets.imdb.load_data(num_words=10000)``
    """
    num_words = _checked(num_words, kwargs)
    names = ("x_train", "y_train", "x_test", "y_test")
    x_train, y_train, x_test, y_test = read_npz(data_path(path, f"{ORIGIN}imdb.npz"), names)
    parts = []
    for x, y in (shuffled(seed, x_train, y_train), shuffled(seed, x_test, y_test)):
        parts.append(_not_longer(_marked(x, start_char, index_from), y, maxlen))
    (train, train_labels), (test, test_labels) = parts
    texts = _without_rare(train + test, num_words, skip_top, oov_char)
    return (object_array(texts[: len(train)]), train_labels), (object_array(texts[len(train) :]), test_labels)


def load_reuters(
    path: str = "reuters.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None,
    test_split: float = 0.2, seed: int = 113, start_char: int | None = 1, oov_char: int | None = 2,
    index_from: int = 3, **kwargs: Any,
) -> tuple[Arrays, Arrays]:  # fmt: skip
    """11,228 news of Reuters with their topics, 46 of them, as lists of word numbers.

    Args:
      path: The path of ``reuters.npz``, or its name in ``~/.keras/datasets``. Nothing is downloaded.
      num_words: Words from this number on are left out; None for none. Frequent words have small numbers.
      skip_top: Words below this number are left out.
      maxlen: Longer news are left out; None for none.
      test_split: Which part is the test set.
      seed: The seed of the order.
      start_char: The number with which each text begins; None for none.
      oov_char: The number that stands for words that are left out; None for none.
      index_from: What is added to the numbers of all words.
      **kwargs: None are accepted.

    Returns:
      Two pairs of texts, an array of lists, and topics, an array of ints.

    Example: ``(x_train, y_train), (x_test, y_test) = tf.keras.datasets.reuters.load_data(num_words=10000)``
    """
    num_words = _checked(num_words, kwargs)
    x, y = shuffled(seed, *read_npz(data_path(path, f"{ORIGIN}reuters.npz"), ("x", "y")))
    short, labels = _not_longer(_marked(x, start_char, index_from), y, maxlen)
    texts = _without_rare(short, num_words, skip_top, oov_char)
    cut = int(len(texts) * (1 - test_split))
    return (object_array(texts[:cut]), labels[:cut]), (object_array(texts[cut:]), labels[cut:])


def load_imdb_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """The numbers of the words of the IMDB reviews, before `index_from` is added.

    Args:
      path: The path of the file, or its name in ``~/.keras/datasets``. Nothing is downloaded.

    Returns:
      A dict from words to ints.

    Example: ``words = tf.keras.datasets.imdb.get_word_index()``
    """
    return read_json(data_path(path, f"{ORIGIN}imdb_word_index.json"))


def load_reuters_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """The numbers of the words of the Reuters news, before `index_from` is added.

    Args:
      path: The path of the file, or its name in ``~/.keras/datasets``. Nothing is downloaded.

    Returns:
      A dict from words to ints.

    Example: ``words = tf.keras.datasets.reuters.get_word_index()``
    """
    return read_json(data_path(path, f"{ORIGIN}reuters_word_index.json"))


def _checked(num_words: int | None, kwargs: dict[str, Any]) -> int | None:
    num_words = kwargs.pop("nb_words", num_words)  # its name until Keras 2
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {', '.join(kwargs)}")
    return num_words


def _marked(texts: Any, start_char: int | None, index_from: int) -> list[list[int]]:
    if start_char is not None:
        return [[start_char, *(word + index_from for word in text)] for text in texts]
    return [[word + index_from for word in text] for text in texts]


def _not_longer(texts: list[list[int]], labels: np.ndarray, maxlen: int | None) -> tuple[list[list[int]], np.ndarray]:
    if not maxlen:
        return texts, labels
    short = [len(text) < maxlen for text in texts]
    if not any(short):
        raise ValueError(
            f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. Increase it."
        )
    return [text for text, is_short in zip(texts, short, strict=True) if is_short], labels[np.array(short)]


def _without_rare(
    texts: list[list[int]], num_words: int | None, skip_top: int, oov_char: int | None
) -> list[list[int]]:
    if not num_words:
        num_words = max(max(text, default=0) for text in texts)  # the word with the largest number goes, as in Keras
    if oov_char is None:
        return [[word for word in text if skip_top <= word < num_words] for text in texts]
    return [[word if skip_top <= word < num_words else oov_char for word in text] for text in texts]
