"""What runs on the host: strings, parsing, tables; and random numbers."""

import numpy as np

from benchmarks._families.case import ELEMENTS, add, integers, normal, once, strings

# ---- strings

S = "strings"
COUNTS = (128, 2048, 2**15)


def _words(n, r):
    return (strings(f"Word{i} of {i % 7}" for i in integers(r, 10**6, n)),)


def _two(n, r):
    return *_words(n, r), *_words(n, r)


add(S, "StringJoin", lambda tf, x, y: tf.string_join([x, y], "-"), _two, COUNTS)
add(S, "StringSplit", lambda tf, x: tf.string_split(x), _words, COUNTS)
add(S, "Substr", lambda tf, x: tf.substr(x, 1, 4), _words, COUNTS)
add(S, "RegexReplace", lambda tf, x: tf.regex_replace(x, "[0-9]+", "#"), _words, COUNTS)
add(S, "RegexFullMatch", lambda tf, x: tf.strings.regex_full_match(x, ".*of 3"), _words, COUNTS)
add(S, "StringLength", lambda tf, x: tf.strings.length(x), _words, COUNTS)
add(S, "StringLower", lambda tf, x: tf.strings.lower(x), _words, COUNTS)
add(S, "StringToHashBucketFast", lambda tf, x: tf.string_to_hash_bucket_fast(x, 1000), _words, COUNTS)
add(S, "StringToNumber", lambda tf, x: tf.string_to_number(x),
    lambda n, r: (strings(f"{x:.4f}" for x in r.randn(n)),), COUNTS)  # fmt: skip
add(S, "AsString", lambda tf, x: tf.as_string(x), lambda n, r: (integers(r, 10**6, n),), COUNTS)
add(S, "EncodeBase64", lambda tf, x: tf.encode_base64(x), _words, COUNTS)
add(S, "GatherV2", lambda tf, x, i: tf.gather(x, i), lambda n, r: (*_words(n, r), integers(r, n, n)), COUNTS)

# ---- parsing

P = "parsing"


def _key(text):
    return b"\x0a" + bytes([len(text)]) + text


def _varint(n):
    found = bytearray()
    while n > 127:
        found.append(n & 127 | 128)
        n >>= 7
    found.append(n)
    return bytes(found)


def _field(tag, payload):
    return bytes([tag << 3 | 2]) + _varint(len(payload)) + payload


def _example(r):
    """A tf.Example of 16 floats, one integer and one string, as it is stored in a file."""
    floats = _field(2, _field(1, normal(r, 16).tobytes()))
    label = _field(3, _field(1, _varint(int(r.randint(0, 1000)))))
    name = _field(1, _field(1, f"name{r.randint(0, 1000)}".encode()))
    entries = ((b"floats", floats), (b"label", label), (b"name", name))
    return _field(1, b"".join(_field(1, _key(key) + _field(2, value)) for key, value in entries))


def _examples(n, r):
    return (np.array([_example(r) for _ in range(n)], object),)


def _parsed(tf, x):
    features = {
        "floats": tf.FixedLenFeature([16], tf.float32), "label": tf.FixedLenFeature([], tf.int64),
        "name": tf.FixedLenFeature([], tf.string),
    }  # fmt: skip
    found = tf.parse_example(x, features)
    return [found[key] for key in sorted(found)]


def _parsed_lists(tf, x):
    return tf.parse_example(x, {"floats": tf.VarLenFeature(tf.float32)})["floats"]


FEW = (32, 256, 2048)
add(P, "ParseExample", _parsed, _examples, FEW)
add(P, "ParseExample lists", _parsed_lists, _examples, FEW)
add(P, "ParseSingleExample", lambda tf, x: _parsed_one(tf, x), lambda n, r: (np.array(_example(r), object),), FEW)
add(P, "DecodeCSV", lambda tf, x: tf.decode_csv(x, [[0], [0.0], [""]]),
    lambda n, r: (strings(f"{r.randint(1000)},{r.randn():.3f},name{r.randint(99)}" for _ in range(n)),), FEW)  # fmt: skip
add(P, "DecodeRaw", lambda tf, x: tf.decode_raw(x, tf.float32),
    lambda n, r: (np.array([normal(r, 32).tobytes() for _ in range(n)], object),), FEW)  # fmt: skip
add(P, "SerializeTensor", lambda tf, x: tf.io.parse_tensor(tf.io.serialize_tensor(x), tf.float32),
    lambda n, r: (normal(r, n, 32),), FEW)  # fmt: skip


def _parsed_one(tf, x):
    found = tf.parse_single_example(x, {"floats": tf.FixedLenFeature([16], tf.float32)})
    return found["floats"]


# ---- tables

T = "lookup tables"
KEYS = 1000


def _table(tf, kind):
    """A table of a thousand words or numbers, made once for the graph."""
    keys = strings(range(KEYS)) if kind == "words" else np.arange(KEYS, dtype=np.int64)
    numbers = np.arange(KEYS, dtype=np.int64)

    def make():
        initial = tf.lookup.KeyValueTensorInitializer(tf.constant(keys), tf.constant(numbers[::-1].copy()))
        return tf.lookup.StaticHashTable(initial, -1)

    return once(tf, kind, make)


def _vocabulary(tf):
    """Words to numbers, unknown ones into ten buckets."""
    initial = tf.lookup.KeyValueTensorInitializer(
        tf.constant(strings(range(KEYS))), tf.constant(np.arange(KEYS, dtype=np.int64))
    )
    return tf.lookup.StaticVocabularyTable(initial, 10)


add(T, "LookupTableFindV2 words", lambda tf, x: _table(tf, "words").lookup(tf.identity(x)),
    lambda n, r: (strings(integers(r, 2 * KEYS, n)),), COUNTS)  # fmt: skip
add(T, "LookupTableFindV2 numbers", lambda tf, x: _table(tf, "numbers").lookup(tf.identity(x)),
    lambda n, r: (integers(r, 2 * KEYS, n, dtype=np.int64),), COUNTS)  # fmt: skip
add(T, "StaticVocabularyTable", lambda tf, x: once(tf, "vocabulary", lambda: _vocabulary(tf)).lookup(tf.identity(x)),
    lambda n, r: (strings(integers(r, 2 * KEYS, n)),), COUNTS)  # fmt: skip

# ---- random numbers

R = "random numbers"


def _random(make):
    """Shapes as variables, so that nothing is folded; a thousand numbers a row."""
    return lambda tf, rows: make(tf, [rows, 256])


def _count(n, r):
    return (np.int32(n // 256),)


add(R, "RandomUniform", _random(lambda tf, s: tf.random_uniform(s)), _count, check="shapes")
add(R, "RandomStandardNormal", _random(lambda tf, s: tf.random_normal(s)), _count, check="shapes")
add(R, "TruncatedNormal", _random(lambda tf, s: tf.truncated_normal(s)), _count, check="shapes")
add(R, "RandomGamma", _random(lambda tf, s: tf.random_gamma(s, 2.0)), _count, (4096, 2**15, 2**18), check="shapes")
add(R, "StatelessRandomUniform", _random(lambda tf, s: tf.random.stateless_uniform(s, [1, 2])), _count, check="shapes")
add(R, "Multinomial", lambda tf, x: tf.multinomial(x, 16), lambda n, r: (normal(r, n // 64, 64),),
    (4096, 2**15, 2**19), check="shapes")  # fmt: skip
add(R, "dropout", lambda tf, x: tf.nn.dropout(x, rate=0.5), lambda n, r: (normal(r, n),), ELEMENTS, check="shapes",
    gradient=True)  # fmt: skip
