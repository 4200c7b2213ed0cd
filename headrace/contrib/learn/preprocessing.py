"""tf.contrib.learn.preprocessing."""

from headrace.library.contrib.learn import CategoricalVocabulary as CategoricalVocabulary
from headrace.library.contrib.learn import VocabularyProcessor as VocabularyProcessor
from headrace.library.contrib.learn import tokenizer as tokenizer
