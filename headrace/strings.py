"""tf.strings."""

from headrace.library.control.host import as_string as as_string
from headrace.library.control.host import string_format as format
from headrace.library.text.ngram import ngrams as ngrams
from headrace.library.text.string import reduce_join as reduce_join
from headrace.library.text.string import regex_full_match as regex_full_match
from headrace.library.text.string import regex_replace as regex_replace
from headrace.library.text.string import string_join as join
from headrace.library.text.string import string_length as length
from headrace.library.text.string import string_lower as lower
from headrace.library.text.string import string_strip as strip
from headrace.library.text.string import string_to_hash_bucket as to_hash_bucket
from headrace.library.text.string import string_to_hash_bucket_fast as to_hash_bucket_fast
from headrace.library.text.string import string_to_hash_bucket_strong as to_hash_bucket_strong
from headrace.library.text.string import string_to_number as to_number
from headrace.library.text.string import string_upper as upper
from headrace.library.text.string import strings_split as split
from headrace.library.text.string import substr as substr
from headrace.library.text.string import unsorted_segment_join as unsorted_segment_join
from headrace.library.text.unicode import bytes_split as bytes_split
from headrace.library.text.unicode import unicode_decode as unicode_decode
from headrace.library.text.unicode import unicode_decode_with_offsets as unicode_decode_with_offsets
from headrace.library.text.unicode import unicode_encode as unicode_encode
from headrace.library.text.unicode import unicode_split as unicode_split
from headrace.library.text.unicode import unicode_split_with_offsets as unicode_split_with_offsets
from headrace.library.text.unicode import unicode_transcode as unicode_transcode
