"""Feature columns (tf.feature_column): how named features of an example become the numbers a model takes.

``column`` says what a column is and holds the features of one call; ``numeric``, ``categorical``, ``crossed`` and
``embedding`` are the columns; ``layer`` makes tensors and variables of them.
"""
