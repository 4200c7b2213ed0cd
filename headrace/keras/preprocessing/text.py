"""tf.keras.preprocessing.text: texts as lists of word numbers."""

from headrace.library.keras.preprocessing.text import (
    Tokenizer as Tokenizer,
)
from headrace.library.keras.preprocessing.text import (
    hashing_trick as hashing_trick,
)
from headrace.library.keras.preprocessing.text import (
    one_hot as one_hot,
)
from headrace.library.keras.preprocessing.text import (
    text_to_word_sequence as text_to_word_sequence,
)
from headrace.library.keras.preprocessing.text import (
    tokenizer_from_json as tokenizer_from_json,
)
