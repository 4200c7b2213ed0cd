"""tf.keras.preprocessing.sequence: sequences as arrays, pairs of words, windows of a time series."""

from headrace.library.keras.preprocessing.sequence import (
    TimeseriesGenerator as TimeseriesGenerator,
)
from headrace.library.keras.preprocessing.sequence import (
    make_sampling_table as make_sampling_table,
)
from headrace.library.keras.preprocessing.sequence import (
    pad_sequences as pad_sequences,
)
from headrace.library.keras.preprocessing.sequence import (
    skipgrams as skipgrams,
)
