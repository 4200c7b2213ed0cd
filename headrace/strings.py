"""tf.strings."""

from headrace.library.control.host import as_string as as_string, string_format as format
from headrace.library.text.ngram import ngrams as ngrams
from headrace.library.text.string import (
    reduce_join as reduce_join, regex_full_match as regex_full_match, regex_replace as regex_replace,
    string_join as join, string_length as length, string_lower as lower, string_strip as strip,
    string_to_hash_bucket as to_hash_bucket, string_to_hash_bucket_fast as to_hash_bucket_fast,
    string_to_hash_bucket_strong as to_hash_bucket_strong, string_to_number as to_number, string_upper as upper,
    strings_split as split, substr as substr, unsorted_segment_join as unsorted_segment_join,
)
from headrace.library.text.unicode import (
    bytes_split as bytes_split, unicode_decode as unicode_decode,
    unicode_decode_with_offsets as unicode_decode_with_offsets, unicode_encode as unicode_encode,
    unicode_split as unicode_split, unicode_split_with_offsets as unicode_split_with_offsets,
    unicode_transcode as unicode_transcode,
)
