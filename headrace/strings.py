"""tf.strings."""

from headrace.library.host import as_string as as_string
from headrace.library.host import string_format as format
from headrace.library.ngram import ngrams as ngrams
from headrace.library.string import reduce_join as reduce_join
from headrace.library.string import regex_full_match as regex_full_match
from headrace.library.string import regex_replace as regex_replace
from headrace.library.string import string_join as join
from headrace.library.string import string_length as length
from headrace.library.string import string_lower as lower
from headrace.library.string import string_strip as strip
from headrace.library.string import string_to_hash_bucket as to_hash_bucket
from headrace.library.string import string_to_hash_bucket_fast as to_hash_bucket_fast
from headrace.library.string import string_to_hash_bucket_strong as to_hash_bucket_strong
from headrace.library.string import string_to_number as to_number
from headrace.library.string import string_upper as upper
from headrace.library.string import strings_split as split
from headrace.library.string import substr as substr
from headrace.library.string import unsorted_segment_join as unsorted_segment_join
from headrace.library.unicode import bytes_split as bytes_split
from headrace.library.unicode import unicode_decode as unicode_decode
from headrace.library.unicode import unicode_decode_with_offsets as unicode_decode_with_offsets
from headrace.library.unicode import unicode_encode as unicode_encode
from headrace.library.unicode import unicode_split as unicode_split
from headrace.library.unicode import unicode_split_with_offsets as unicode_split_with_offsets
from headrace.library.unicode import unicode_transcode as unicode_transcode
