"""Mistakes that the functions for texts refuse, and what goes through JSON."""

import pytest

import headrace as tf

text = tf.keras.preprocessing.text


def test_wrong_arguments():
    with pytest.raises(TypeError, match="Unrecognized keyword arguments: words"):
        text.Tokenizer(words=3)
    with pytest.raises(ValueError, match="hash_function must be a function, 'md5' or None, got 'sha'"):
        text.hashing_trick("a", 5, hash_function="sha")
    with pytest.raises(ValueError, match="it has no 'config'"):
        text.tokenizer_from_json("{}")


def test_matrices_need_words():
    tokenizer = text.Tokenizer()
    with pytest.raises(ValueError, match="Unknown vectorization mode: 'often'"):
        tokenizer.sequences_to_matrix([[1]], "often")
    with pytest.raises(ValueError, match="Specify a dimension"):
        tokenizer.sequences_to_matrix([[1]])
    with pytest.raises(ValueError, match="before using tfidf"):
        text.Tokenizer(num_words=3).sequences_to_matrix([[1]], "tfidf")


def test_fitting_goes_on_after_json():
    tokenizer = text.Tokenizer()
    tokenizer.fit_on_texts(["a b"])
    same = text.tokenizer_from_json(tokenizer.to_json(indent=1))
    same.fit_on_texts(["b c"])
    assert same.word_index == {"b": 1, "a": 2, "c": 3} and same.document_count == 2 and same.index_docs[1] == 2


def test_one_hot_uses_the_hash_of_this_process():
    assert text.one_hot("Word", 100) == [hash("word") % 99 + 1]
