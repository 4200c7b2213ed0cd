"""tf.lookup: tables."""

from headrace.lookup import experimental as experimental
from headrace.library.text.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from headrace.library.text.lookup import StaticHashTable as StaticHashTable
from headrace.library.text.lookup import TextFileIndex as TextFileIndex
from headrace.library.text.lookup import TextFileInitializer as TextFileInitializer
from headrace.library.text.vocabulary import StaticVocabularyTable as StaticVocabularyTable
