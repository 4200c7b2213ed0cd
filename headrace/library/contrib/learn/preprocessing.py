"""contrib.learn.preprocessing: the vocabulary of short texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

_TOKEN = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text."""
    for text in iterator:
        yield _TOKEN.findall(text)


class CategoricalVocabulary:
    """Words and their numbers; 0 stands for unknown words."""

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
    """Texts to rows of word numbers, cut or filled with zeros to ``max_document_length``."""

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

    def reverse(self, documents: Iterable[Any]) -> Iterator[str]:
        """The texts of rows of word numbers."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(int(i)) for i in row)
