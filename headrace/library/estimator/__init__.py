"""``tf.estimator``: a model described by one function, and the loops that train, evaluate, ask and export it.

The loops stand on monitored sessions (``library.train``); this room owns what a model function is called with, what it may
return, and the ready-made models.
"""
