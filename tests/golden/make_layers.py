"""Makes layers.npz and layers.json: the programs of layers_cases.py by real TensorFlow.

Run with an interpreter that has tensorflow.  Batch normalization is not among them: TensorFlow 2 no longer ships TF1's.
"""

from layers_cases import CASES, fixed, node_names, variable_names
from real import keep, numbered, tf
from tensorflow.python.keras.legacy_tf_layers import convolutional, core, pooling


class Layers:
    """tf.layers as it was."""


for module in (convolutional, core, pooling):
    for name, value in vars(module).items():
        if not name.startswith("_") and callable(value):
            setattr(Layers, name, staticmethod(value))

if __name__ == "__main__":
    arrays, names = {}, {}
    for name, case in CASES.items():
        with tf.Graph().as_default(), tf.Session() as session, tf.variable_scope("", initializer=fixed):
            fetches = case(tf, Layers)
            names[name] = {"variables": variable_names(tf), "nodes": node_names(tf)}
            session.run(tf.global_variables_initializer())
            arrays[name] = session.run(fetches)
    keep("layers.npz", numbered(arrays))
    keep("layers.json", names, indent=0)
