"""tf.lookup: tables."""

from headrace import lookup_experimental as experimental
from headrace.library.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from headrace.library.lookup import StaticHashTable as StaticHashTable
from headrace.library.lookup import TextFileIndex as TextFileIndex
from headrace.library.lookup import TextFileInitializer as TextFileInitializer
from headrace.library.vocabulary import StaticVocabularyTable as StaticVocabularyTable
