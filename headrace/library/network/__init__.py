"""The functions of neural networks (``tf.nn``): activations, convolutions, pools, losses, embeddings."""
