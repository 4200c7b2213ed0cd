"""contrib.learn.preprocessing: the vocabulary of short texts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from headrace.core.source import at
from headrace.library.system.file import GFile

_FORM = "headrace vocabulary 1"  # what a saved processor begins with
_MOST_BYTES = 1 << 30
_TOKEN = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text.

    Args:
      iterator: The texts.

    Returns:
      An iterator over lists of words.

    >>> list(tf.contrib.learn.preprocessing.tokenizer(["To be, or not"]))
    [['To', 'be', 'or', 'not']]
    """
    for text in iterator:
        yield _TOKEN.findall(text)


class CategoricalVocabulary:
    """Words and their numbers; 0 stands for unknown words.

    Args:
      unknown_token: The text of unknown words.
      support_reverse: Accepted and not used: `reverse` always works.

    >>> vocabulary = tf.contrib.learn.preprocessing.CategoricalVocabulary()
    >>> [vocabulary.get(word) for word in ("to", "be", "to")]
    [1, 2, 1]
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping: dict[str, int] = {unknown_token: 0}
        self._words = [unknown_token]
        self._counts: Counter[str] = Counter()
        self._frozen = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """From here on new words are unknown ones."""
        self._frozen = freeze

    def get(self, category: str) -> int:
        """The word's number; a new one gets the next number unless frozen."""
        if category not in self._mapping:
            if self._frozen:
                return 0
            self._mapping[category] = len(self._words)
            self._words.append(category)
        return self._mapping[category]

    def add(self, category: str, count: int = 1) -> None:
        """Counts a word."""
        if self.get(category) > 0:
            self._counts[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keeps words seen more than ``min_frequency`` times (and fewer than the largest), the most frequent first."""
        ranked = sorted(sorted(self._counts.items(), key=lambda i: i[0]), key=lambda i: i[1], reverse=True)
        frequent = [w for w, n in ranked if n > min_frequency and (max_frequency <= 0 or n < max_frequency)]
        self._words = [self._unknown_token, *frequent]
        self._mapping = {word: i for i, word in enumerate(self._words)}
        self._counts = Counter({word: self._counts[word] for word in frequent})

    def reverse(self, class_id: int) -> str:
        """The word of a number."""
        return self._words[class_id]


class VocabularyProcessor:
    """Texts to rows of word numbers, cut or filled with zeros to ``max_document_length``.

    Args:
      max_document_length: The length of a row.
      min_frequency: Words that come at most so often are unknown; 0 keeps all.
      vocabulary: The words and their numbers, such as a `CategoricalVocabulary`; None for a new one.
      tokenizer_fn: A function from texts to lists of words; None for `tokenizer`.

    >>> processor = tf.contrib.learn.preprocessing.VocabularyProcessor(max_document_length=4)
    >>> list(processor.fit_transform(["to be or not", "not to"]))
    [array([1, 2, 3, 4]), array([4, 1, 0, 0])]
    """

    def __init__(
        self, max_document_length: int, min_frequency: int = 0, vocabulary: Any = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterator[list[str]]] | None = None,
    ) -> None:  # fmt: skip
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words of the texts; texts transformed afterwards add none."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[np.ndarray]:
        """Learns the words of the texts and gives one row of word numbers for each."""
        documents = list(raw_documents)
        self.fit(documents)
        return self.transform(documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """One row of word numbers for each text."""
        for tokens in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for i, token in enumerate(tokens[: self.max_document_length]):
                row[i] = self.vocabulary_.get(token)
            yield row

    def save(self, filename: str) -> None:
        """Writes lengths, words and counts to a file, as JSON: not TensorFlow's form, which is a pickle."""
        vocabulary = self.vocabulary_
        if not isinstance(vocabulary, CategoricalVocabulary) or self._tokenizer is not tokenizer:
            raise ValueError(
                "only a processor with a CategoricalVocabulary and the default tokenizer can be saved: a file cannot hold "
                f"{vocabulary!r}, {self._tokenizer!r} {at()}"
            )
        saved = {
            "form": _FORM, "max_document_length": self.max_document_length, "min_frequency": self.min_frequency,
            "words": vocabulary._words, "counts": dict(vocabulary._counts), "frozen": vocabulary._frozen,
        }  # fmt: skip
        with GFile(filename, "w") as file:
            file.write(json.dumps(saved))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """The processor that `save` has written.  A file of TensorFlow's is refused: it is a pickle, which may run any code."""
        with GFile(filename, "rb") as file:
            if file.size() > _MOST_BYTES:
                raise ValueError(f"{filename} has {file.size()} bytes: a vocabulary has at most {_MOST_BYTES} {at()}")
            data = file.read()
        try:
            saved = json.loads(data)
            if saved["form"] != _FORM:
                raise ValueError(f"its form is {saved['form']!r}")
            processor = cls(int(saved["max_document_length"]), int(saved["min_frequency"]))
            words = [str(word) for word in saved["words"]]
            counts = {str(word): int(count) for word, count in saved["counts"].items()}
            frozen = bool(saved["frozen"])
            if not words or len(set(words)) != len(words):
                raise ValueError("its words are none, or not distinct")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(
                f"{filename} is not a vocabulary that VocabularyProcessor.save wrote: {error}. Files of TensorFlow's are "
                f"pickles, which are not read: fit the processor again {at()}"
            ) from None
        vocabulary = CategoricalVocabulary(words[0])
        vocabulary._words, vocabulary._mapping = words, {word: i for i, word in enumerate(words)}
        vocabulary._counts, vocabulary._frozen = Counter(counts), frozen
        processor.vocabulary_ = vocabulary
        return processor

    def reverse(self, documents: Iterable[Any]) -> Iterator[str]:
        """The texts of rows of word numbers."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(int(i)) for i in row)
