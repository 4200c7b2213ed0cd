"""tf.contrib.lookup: tables between strings and ids, and mutable ones."""

from headrace.library.text.lookup import DenseHashTable as MutableDenseHashTable
from headrace.library.text.lookup import HashTable as HashTable
from headrace.library.text.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from headrace.library.text.lookup import LookupInterface as LookupInterface
from headrace.library.text.lookup import MutableHashTable as MutableHashTable
from headrace.library.text.lookup import TextFileIdTableInitializer as TextFileIdTableInitializer
from headrace.library.text.lookup import TextFileIndex as TextFileIndex
from headrace.library.text.lookup import TextFileInitializer as TextFileInitializer
from headrace.library.text.lookup import TextFileStringTableInitializer as TextFileStringTableInitializer
from headrace.library.text.vocabulary import FastHashSpec as FastHashSpec
from headrace.library.text.vocabulary import HasherSpec as HasherSpec
from headrace.library.text.vocabulary import IdTableWithHashBuckets as IdTableWithHashBuckets
from headrace.library.text.vocabulary import StrongHashSpec as StrongHashSpec
from headrace.library.text.vocabulary import index_table_from_file as index_table_from_file
from headrace.library.text.vocabulary import index_table_from_tensor as index_table_from_tensor
from headrace.library.text.vocabulary import index_to_string as index_to_string
from headrace.library.text.vocabulary import index_to_string_table_from_file as index_to_string_table_from_file
from headrace.library.text.vocabulary import index_to_string_table_from_tensor as index_to_string_table_from_tensor
from headrace.library.text.vocabulary import string_to_index as string_to_index
