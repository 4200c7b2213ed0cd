"""A functional model: two inputs, a shared layer, two outputs with weighted losses, arrays by name."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Add, Concatenate, Dense, Dot, Embedding, Flatten, Input, Lambda
from tensorflow.keras.models import Model

random = np.random.RandomState(1)
COUNT, USERS = 120, 10

numbers = Input(shape=(6,), name="numbers")
user = Input(shape=(1,), dtype="int32", name="user")
shared = Dense(5, activation="tanh", name="shared")
vector = Flatten()(Embedding(USERS, 5, name="users")(user))
first, second = shared(Lambda(lambda x: x[:, :3])(numbers)), shared(Lambda(lambda x: x[:, 3:])(numbers))
match = Dot(axes=1, name="match")([Add()([first, second]), vector])
joined = Concatenate()([first, second, vector])
score = Dense(1, name="score")(Dense(8, activation="relu")(joined))
kind = Dense(3, activation="softmax", name="kind")(Concatenate()([joined, match]))
model = Model(inputs=[numbers, user], outputs=[score, kind])
print([layer.name for layer in model.layers])
print(model.input_shape, model.output_shape, model.get_layer("shared").count_params())

model.compile(
    optimizer=tf.keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
    loss={"score": "mse", "kind": "categorical_crossentropy"},
    loss_weights={"score": 0.5, "kind": 1.0},
    metrics={"kind": ["accuracy"], "score": "mae"},
)
model.set_weights([random.randn(*w.shape) * 0.3 for w in model.get_weights()])
x = {"numbers": random.randn(COUNT, 6), "user": random.randint(0, USERS, (COUNT, 1))}
kinds = (x["numbers"][:, 0] > 0).astype(int) + (x["user"][:, 0] > 4)
y = {"score": x["numbers"].sum(1, keepdims=True), "kind": tf.keras.utils.to_categorical(kinds, 3)}
weights = {"score": np.linspace(0.5, 1.5, COUNT), "kind": np.ones(COUNT)}
history = model.fit(x, y, batch_size=30, epochs=4, shuffle=False, verbose=0, sample_weight=weights)
for name in ("loss", "score_loss", "kind_loss"):
    print(name, " ".join("%.4f" % v for v in history.history[name]))
print("evaluate", " ".join("%.4f" % v for v in model.evaluate(x, y, verbose=0, batch_size=COUNT)))
print("metrics", len(model.metrics_names), model.metrics_names[:3])
outputs = model.predict({"numbers": x["numbers"][:3], "user": x["user"][:3]})
print([o.shape for o in outputs], "%.4f %.4f" % (outputs[0].sum(), outputs[1].max()))

inner = Model(model.input, model.get_layer("match").output)
print("inner", inner.predict([x["numbers"][:4], x["user"][:4]]).ravel().round(3) + 0.0)
try:
    model.fit(x["numbers"], y, verbose=0)
except (ValueError, AssertionError) as error:
    print(type(error).__name__)
