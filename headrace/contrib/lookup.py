"""tf.contrib.lookup: tables between strings and ids, and mutable ones."""

from headrace.library.text.lookup import (
    DenseHashTable as MutableDenseHashTable, HashTable as HashTable,
    KeyValueTensorInitializer as KeyValueTensorInitializer, LookupInterface as LookupInterface,
    MutableHashTable as MutableHashTable, TextFileIdTableInitializer as TextFileIdTableInitializer,
    TextFileIndex as TextFileIndex, TextFileInitializer as TextFileInitializer,
    TextFileStringTableInitializer as TextFileStringTableInitializer,
)
from headrace.library.text.vocabulary import (
    FastHashSpec as FastHashSpec, HasherSpec as HasherSpec, IdTableWithHashBuckets as IdTableWithHashBuckets,
    StrongHashSpec as StrongHashSpec, index_table_from_file as index_table_from_file,
    index_table_from_tensor as index_table_from_tensor, index_to_string as index_to_string,
    index_to_string_table_from_file as index_to_string_table_from_file,
    index_to_string_table_from_tensor as index_to_string_table_from_tensor, string_to_index as string_to_index,
)
