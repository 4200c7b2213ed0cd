"""tf.contrib.learn.preprocessing."""

from headrace.library.contrib.learn.preprocessing import CategoricalVocabulary as CategoricalVocabulary
from headrace.library.contrib.learn.preprocessing import VocabularyProcessor as VocabularyProcessor
from headrace.library.contrib.learn.preprocessing import tokenizer as tokenizer
