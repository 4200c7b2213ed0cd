"""Sentences as sequences of words: Tokenizer, padding, an embedding with a mask, an LSTM, a plateau that lowers the rate."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import LSTM, Dense, Embedding
from tensorflow.keras.models import Sequential
from tensorflow.keras.preprocessing.sequence import pad_sequences
from tensorflow.keras.preprocessing.text import Tokenizer

random = np.random.RandomState(3)
GOOD, BAD = "fine lovely great bright".split(), "awful dull grey sad".split()
OTHER = "the a film was very and with story of music".split()


def sentence():
    label = random.randint(2)
    words = list(random.choice(OTHER, random.randint(3, 9))) + list(
        random.choice((BAD, GOOD)[label], random.randint(1, 3))
    )
    random.shuffle(words)
    return " ".join(words) + "!", label


texts, labels = zip(*(sentence() for _ in range(200)))
labels = np.array(labels)
tokenizer = Tokenizer(num_words=15, oov_token="<unknown>")
tokenizer.fit_on_texts(texts)
print(sorted(tokenizer.word_index.items(), key=lambda item: item[1])[:4])
sequences = tokenizer.texts_to_sequences(texts)
data = pad_sequences(sequences, maxlen=10, padding="post", truncating="pre")
print(data.shape, data[0], tokenizer.sequences_to_texts([sequences[0]]))

model = Sequential()
model.add(Embedding(15, 8, input_length=10, mask_zero=True))
model.add(LSTM(8, dropout=0.0))
model.add(Dense(1, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer="rmsprop", metrics=["acc"])
model.set_weights([random.randn(*w.shape) * 0.3 for w in model.get_weights()])
plateau = tf.keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=1, min_delta=0.05, verbose=0)
history = model.fit(
    data, labels, epochs=6, batch_size=20, validation_split=0.2, shuffle=False, verbose=0, callbacks=[plateau]
)
print("loss", " ".join("%.4f" % v for v in history.history["loss"]))
print("val_loss", " ".join("%.4f" % v for v in history.history["val_loss"]))
print("rate", "%.6f" % tf.keras.backend.get_value(model.optimizer.lr))
new = pad_sequences(
    tokenizer.texts_to_sequences(["a great film", "the story was dull and sad"]), maxlen=10, padding="post"
)
print("new", model.predict(new).ravel().round(3) + 0.0)
