"""tf.keras.datasets.reuters: news and their topics."""

from headrace.library.keras.datasets.text import load_reuters as load_data, load_reuters_word_index as get_word_index
