"""tf.keras.datasets.imdb: film reviews."""

from headrace.library.keras.datasets.text import load_imdb as load_data, load_imdb_word_index as get_word_index
