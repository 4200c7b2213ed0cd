"""Sequence to sequence (``tf.contrib.seq2seq``): decoders, helpers that feed them, attention, beam search, the loss."""
