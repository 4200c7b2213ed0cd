"""Small tools of tf.keras: labels as vectors, sources of batches, files in a cache."""
