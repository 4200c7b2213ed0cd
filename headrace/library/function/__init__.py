"""Functions made of graphs: ``tf.function``, ``Defun``, gradients of one's own, Python callbacks."""
