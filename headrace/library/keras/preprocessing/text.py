"""Texts as lists of word numbers or as rows of a matrix: ``Tokenizer`` and functions for single texts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(text: str, filters: str = FILTERS, lower: bool = True, split: str = " ") -> list[str]:
    """Splits a text into its words.

    Args:
      text: The text.
      filters: The characters that are treated like `split`; the default is punctuation, tabs and ends of lines.
      lower: Whether the words are in lower case.
      split: What separates words.

    Returns:
      A list of strings.

    >>> tf.keras.preprocessing.text.text_to_word_sequence("The cat, and the dog.")
    ['the', 'cat', 'and', 'the', 'dog']
    """
    if lower:
        text = text.lower()
    parts = text.translate({ord(one): split for one in filters}).split(split)
    return [part for part in parts if part]


def hashing_trick(
    text: str, n: int, hash_function: str | Callable[[str], int] | None = None, filters: str = FILTERS,
    lower: bool = True, split: str = " ",
) -> list[int]:  # fmt: skip
    """Numbers for the words of a text, by a hash: the same word has the same number, and two words may share one.

    Args:
      text: The text.
      n: The numbers are from 1 to ``n - 1``.
      hash_function: ``"md5"``, which gives the same numbers everywhere; a function from a word to an int; or None for
        Python's ``hash``, which differs from process to process.
      filters: The characters that are treated like `split`.
      lower: Whether upper and lower case are the same.
      split: What separates words.

    Returns:
      A list of ints.

    >>> tf.keras.preprocessing.text.hashing_trick("one two one", 10, hash_function="md5")
    [3, 6, 3]
    """
    if hash_function is None:
        hash_function = hash
    elif hash_function == "md5":
        hash_function = _md5
    if not callable(hash_function):
        raise ValueError(f"hash_function must be a function, 'md5' or None, got {hash_function!r}")
    return [int(hash_function(word)) % (n - 1) + 1 for word in text_to_word_sequence(text, filters, lower, split)]


def one_hot(text: str, n: int, filters: str = FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    """Numbers for the words of a text, by Python's ``hash``; `hashing_trick` can use another.

    Args:
      text: The text.
      n: The numbers are from 1 to ``n - 1``.
      filters: The characters that are treated like `split`.
      lower: Whether upper and lower case are the same.
      split: What separates words.

    Returns:
      A list of ints.

    >>> first, second, third = tf.keras.preprocessing.text.one_hot("one two one", 50)
    >>> first == third
    True
    """
    return hashing_trick(text, n, hash_function=hash, filters=filters, lower=lower, split=split)


def _md5(word: str) -> int:
    return int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16)


class Tokenizer:
    """Gives each word of a collection of texts a number, and turns texts into lists of these numbers.

    More frequent words have smaller numbers. The number 0 belongs to no word.

    Args:
      num_words: Words with this number or a larger one are left out; None for none.
      filters: The characters that are treated like `split`.
      lower: Whether upper and lower case are the same.
      split: What separates words.
      char_level: True if each character is a word.
      oov_token: The word that stands for words that have no number, with the number 1; None leaves such words out.
      document_count: How many texts were seen before.
      **kwargs: None are accepted.

    >>> tokenizer = tf.keras.preprocessing.text.Tokenizer()
    >>> tokenizer.fit_on_texts(["the cat", "the dog"])
    >>> tokenizer.texts_to_sequences(["the dog and the cat"])
    [[1, 3, 1, 2]]
    """

    def __init__(
        self, num_words: int | None = None, filters: str = FILTERS, lower: bool = True, split: str = " ",
        char_level: bool = False, oov_token: str | None = None, document_count: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        if "nb_words" in kwargs:  # its name until Keras 2
            num_words = kwargs.pop("nb_words")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {', '.join(kwargs)}")
        self.word_counts: dict[str, int] = OrderedDict()
        self.word_docs: dict[str, int] = defaultdict(int)
        self.index_docs: dict[int, int] = defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}
        self.num_words = num_words
        self.filters = filters
        self.lower = lower
        self.split = split
        self.char_level = char_level
        self.oov_token = oov_token
        self.document_count = document_count

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Counts the words of texts and gives all words known so far their numbers.

        Args:
          texts: Strings, or lists of words.
        """
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in dict.fromkeys(words):  # in their order, unlike a set's
                self.word_docs[word] += 1
        by_count = sorted(self.word_counts, key=lambda word: -self.word_counts[word])
        listed = by_count if self.oov_token is None else [self.oov_token, *by_count]
        self.word_index = dict(zip(listed, range(1, len(listed) + 1), strict=True))
        self.index_word = {index: word for word, index in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Any) -> None:
        """Counts in how many sequences each number is, for `sequences_to_matrix`.

        Args:
          sequences: Lists of word numbers.
        """
        self.document_count += len(sequences)
        for sequence in sequences:
            for index in set(sequence):
                self.index_docs[index] += 1

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """The numbers of the words of texts.

        Args:
          texts: Strings, or lists of words.

        Returns:
          A list of ints for each text.
        """
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """The numbers of the words of texts, text by text.

        Args:
          texts: Strings, or lists of words.

        Returns:
          An iterator of lists of ints.
        """
        unknown = self._unknown()
        for text in texts:
            indices = (self.word_index.get(word) for word in self._words(text))
            known = (index if index is not None and self._is_kept(index) else unknown for index in indices)
            yield [index for index in known if index is not None]

    def sequences_to_texts(self, sequences: Iterable[Iterable[int]]) -> list[str]:
        """Texts from the numbers of their words, with spaces between them.

        Args:
          sequences: Lists of word numbers.

        Returns:
          A list of strings.
        """
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Iterable[int]]) -> Iterator[str]:
        """Texts from the numbers of their words, text by text.

        Args:
          sequences: Lists of word numbers.

        Returns:
          An iterator of strings.
        """
        unknown = self._unknown()
        unknown_word = None if unknown is None else self.index_word[unknown]
        for sequence in sequences:
            found = ((index, self.index_word.get(index)) for index in sequence)
            words = (word if word is not None and self._is_kept(index) else unknown_word for index, word in found)
            yield " ".join(word for word in words if word is not None)

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> np.ndarray:
        """A row for each text, with a column for each word.

        Args:
          texts: Strings, or lists of words.
          mode: What the columns hold, as in `sequences_to_matrix`.

        Returns:
          An array of float64.
        """
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode=mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> np.ndarray:
        """A row for each sequence of word numbers, with a column for each word.

        Args:
          sequences: Lists of word numbers.
          mode: What the columns hold: ``"binary"``, whether the word is there; ``"count"``, how often; ``"freq"``, which
            part of the words it is; ``"tfidf"``, how often, weighted by how few texts have the word.

        Returns:
          An array of float64.
        """
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError(f"Unknown vectorization mode: {mode!r}; accepted: 'binary', 'count', 'freq', 'tfidf'")
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (num_words argument), or fit on some text data first.")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        columns = self.num_words or len(self.word_index) + 1
        matrix = np.zeros((len(sequences), columns))
        for row, sequence in zip(matrix, sequences, strict=True):
            for index, count in Counter(index for index in sequence if index < columns).items():
                row[index] = self._entry(mode, index, count, len(sequence))
        return matrix

    def _entry(self, mode: str, index: int, count: int, length: int) -> float:
        if mode == "tfidf":
            rarity = np.log(1 + self.document_count / (1 + self.index_docs.get(index, 0)))
            return float((1 + np.log(count)) * rarity)
        return {"binary": 1.0, "count": float(count), "freq": count / length}[mode]

    def get_config(self) -> dict[str, Any]:
        """What `tokenizer_from_json` needs, with the dictionaries as JSON.

        Returns:
          A dict.
        """
        tables = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        plain = ("num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count")
        config = {name: getattr(self, name) for name in plain}
        return config | {name: json.dumps(getattr(self, name)) for name in tables}

    def to_json(self, **kwargs: Any) -> str:
        """The tokenizer as JSON, for `tokenizer_from_json`.

        Args:
          **kwargs: Arguments of ``json.dumps``.

        Returns:
          A string.
        """
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)

    def _words(self, text: Any) -> Any:
        if isinstance(text, list):
            return [word.lower() for word in text] if self.lower else text
        if self.char_level:
            return text.lower() if self.lower else text
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def _unknown(self) -> int | None:
        return None if self.oov_token is None else self.word_index.get(self.oov_token)

    def _is_kept(self, index: int) -> bool:
        return not self.num_words or index < self.num_words


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """The tokenizer that `Tokenizer.to_json` has written.

    Args:
      json_string: The JSON.

    Returns:
      A `Tokenizer`.

    >>> tokenizer = tf.keras.preprocessing.text.Tokenizer()
    >>> tokenizer.fit_on_texts(["the cat", "the dog"])
    >>> same = tf.keras.preprocessing.text.tokenizer_from_json(tokenizer.to_json())
    >>> same.word_index
    {'the': 1, 'cat': 2, 'dog': 3}
    """
    config = json.loads(json_string).get("config")
    if not isinstance(config, dict):
        raise ValueError("the JSON is not a Tokenizer's: it has no 'config'")
    tables = {
        name: json.loads(config.pop(name))
        for name in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
    }
    tokenizer = Tokenizer(**config)
    tokenizer.word_counts = OrderedDict(tables["word_counts"])
    tokenizer.word_docs = defaultdict(int, tables["word_docs"])
    tokenizer.index_docs = defaultdict(int, {int(k): v for k, v in tables["index_docs"].items()})
    tokenizer.index_word = {int(k): v for k, v in tables["index_word"].items()}
    tokenizer.word_index = tables["word_index"]
    return tokenizer
