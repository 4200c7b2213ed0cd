"""tf.contrib.lookup: tables between strings and ids, and mutable ones."""

from headrace.library.lookup import DenseHashTable as MutableDenseHashTable
from headrace.library.lookup import HashTable as HashTable
from headrace.library.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from headrace.library.lookup import LookupInterface as LookupInterface
from headrace.library.lookup import MutableHashTable as MutableHashTable
from headrace.library.lookup import TextFileIdTableInitializer as TextFileIdTableInitializer
from headrace.library.lookup import TextFileIndex as TextFileIndex
from headrace.library.lookup import TextFileInitializer as TextFileInitializer
from headrace.library.lookup import TextFileStringTableInitializer as TextFileStringTableInitializer
from headrace.library.vocabulary import FastHashSpec as FastHashSpec
from headrace.library.vocabulary import HasherSpec as HasherSpec
from headrace.library.vocabulary import IdTableWithHashBuckets as IdTableWithHashBuckets
from headrace.library.vocabulary import StrongHashSpec as StrongHashSpec
from headrace.library.vocabulary import index_table_from_file as index_table_from_file
from headrace.library.vocabulary import index_table_from_tensor as index_table_from_tensor
from headrace.library.vocabulary import index_to_string as index_to_string
from headrace.library.vocabulary import index_to_string_table_from_file as index_to_string_table_from_file
from headrace.library.vocabulary import index_to_string_table_from_tensor as index_to_string_table_from_tensor
from headrace.library.vocabulary import string_to_index as string_to_index
