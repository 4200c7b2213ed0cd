"""Helpers: what a decoder's next inputs are (the true ones, the most likely ones, sampled ones) and when it is finished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.shape import TensorShape
from headrace.graph.convert import convert_to_tensor
from headrace.library import nest
from headrace.library.control.control_flow import cond
from headrace.library.control.tensor_array import TensorArray
from headrace.library.network.embedding import embedding_lookup
from headrace.library.numeric import math, random, reduction
from headrace.library.rnn.step import transpose_batch_time
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation, indexing


class Helper:
    """Samples from the outputs of a step and gives the inputs of the next.

    >>> issubclass(tf.contrib.seq2seq.TrainingHelper, tf.contrib.seq2seq.Helper)
    True
    """

    @property
    def batch_size(self) -> Any:
        """The size of the batch, an int or a scalar tensor."""
        raise NotImplementedError

    @property
    def sample_ids_shape(self) -> TensorShape:
        """The shape of a sample without the batch: a scalar for an id."""
        raise NotImplementedError

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of a sample."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """(finished, inputs) at the start."""
        raise NotImplementedError

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """A sample for each sequence from the outputs of a step."""
        raise NotImplementedError

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """(finished, next inputs, next state)."""
        raise NotImplementedError


class CustomHelper(Helper):
    """A helper made of three functions.

    Args:
      initialize_fn: A function without arguments that gives (finished, first inputs).
      sample_fn: A function (time, outputs, state) that gives samples; it is called with these names.
      next_inputs_fn: A function (time, outputs, state, sample_ids) that gives (finished, next inputs, next state).
      sample_ids_shape: The shape of a sample without the batch; None for a scalar.
      sample_ids_dtype: The type of the samples; None for int32.

    >>> helper = tf.contrib.seq2seq.CustomHelper(
    ...     initialize_fn=lambda: (tf.fill([2], False), tf.zeros([2, 3])),
    ...     sample_fn=lambda time, outputs, state: tf.argmax(outputs, -1, output_type=tf.int32),
    ...     next_inputs_fn=lambda time, outputs, state, sample_ids: (tf.fill([2], time >= 3), tf.zeros([2, 3]), state))
    >>> finished, inputs = helper.initialize()
    """

    def __init__(
        self, initialize_fn: Callable[..., Any], sample_fn: Callable[..., Any], next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None, sample_ids_dtype: Any = None,
    ) -> None:  # fmt: skip
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._sample_ids_shape = TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or dtypes.int32

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_ids_dtype

    def initialize(self, name: str | None = None) -> Any:
        with name_scope(name, "CustomHelperInitialize"):
            finished, next_inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = array.size(finished)
        return finished, next_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "CustomHelperSample", (time, outputs, state)):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        with name_scope(name, "CustomHelperNextInputs", (time, outputs, state)):
            return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class _IdHelper(Helper):
    """A helper whose samples are ids."""

    _batch_size: Any

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        return dtypes.int32


class TrainingHelper(_IdHelper):
    """Reads the true inputs, one step after the other; samples are the most likely ids.

    Args:
      inputs: The true inputs [batch, time, ...], or a nested structure of such tensors.
      sequence_length: The length of each sequence, an int32 vector [batch].
      time_major: True if the inputs are [time, batch, ...].
      name: The name scope of the ops.

    >>> helper = tf.contrib.seq2seq.TrainingHelper(tf.zeros([2, 5, 3]), sequence_length=[5, 2])
    >>> tf.Session().run(helper.batch_size)
    np.int32(2)
    """

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None) -> None:
        with name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            self._inputs = inputs = nest.map_structure(convert_to_tensor, inputs)
            if not time_major:
                inputs = nest.map_structure(transpose_batch_time, inputs)
            self._input_tas = nest.map_structure(_unstacked, inputs)
            self._sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError(
                    f"Expected sequence_length to be a vector, but received shape: {self._sequence_length.shape}"
                )
            self._zero_inputs = nest.map_structure(lambda i: creation.zeros_like(i[0, :]), inputs)
            self._batch_size = array.size(self._sequence_length)

    @property
    def inputs(self) -> Any:
        """The true inputs, as they were given."""
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        """The length of each sequence."""
        return self._sequence_length

    def initialize(self, name: str | None = None) -> Any:
        with name_scope(name, "TrainingHelperInitialize"):
            return self._at(math.equal(0, self._sequence_length), 0)

    def _at(self, finished: Any, time: Any) -> Any:
        """(finished, the inputs at a time, or zeros if all have finished)."""
        inputs = cond(
            reduction.reduce_all(finished),
            lambda: self._zero_inputs,
            lambda: nest.map_structure(lambda ta: ta.read(time), self._input_tas),
        )
        nest.map_structure(lambda i, zero: i.set_shape(zero.shape), inputs, self._zero_inputs)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "TrainingHelperSample", [time, outputs]):
            return math.cast(reduction.argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None) -> Any:
        with name_scope(name, "TrainingHelperNextInputs", [time, outputs, state]):
            following = time + 1
            return (*self._at(following >= self._sequence_length, following), state)


def _unstacked(inputs: Any) -> TensorArray:
    steps = inputs.shape.as_list()[0]
    size = array.shape(inputs)[0] if steps is None else steps
    return TensorArray(inputs.dtype.base_dtype, size=size, element_shape=inputs.shape[1:]).unstack(inputs)


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Scheduled sampling (Bengio et al., 2015): with some probability the next input is the embedding of a sampled id.

    Args:
      inputs: The true inputs [batch, time, ...].
      sequence_length: The length of each sequence, an int32 vector [batch].
      embedding: The table of embeddings [ids, size], or a function from ids to embeddings.
      sampling_probability: How often an id is sampled: a float32 scalar, or a vector with one number for each sequence.
      time_major: True if the inputs are [time, batch, ...].
      seed: The seed of the ids.
      scheduling_seed: The seed of the choice between the true input and a sample.
      name: The name scope of the ops.

    >>> helper = tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper(
    ...     tf.zeros([2, 5, 3]), sequence_length=[5, 2], embedding=tf.zeros([4, 3]), sampling_probability=0.1)
    >>> finished, inputs = helper.initialize()
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, embedding: Any, sampling_probability: Any, time_major: bool = False,
        seed: int | None = None, scheduling_seed: int | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        with name_scope(name, "ScheduledEmbeddingSamplingWrapper", [sampling_probability]):
            self._embedding_fn = embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)
            self._probability = convert_to_tensor(sampling_probability, name="sampling_probability")
            if self._probability.shape.ndims not in (0, 1):
                raise ValueError(
                    f"sampling_probability must be either a scalar or a vector. saw shape: {self._probability.shape}"
                )
            self._seed = seed
            self._scheduling_seed = scheduling_seed
        super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """A sampled id, or -1 where the true input is to be used."""
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs, state]):
            chosen = _bernoulli(self._probability, self._batch_size, self._scheduling_seed)
            drawn = _draw(outputs, self._seed)
            return indexing.where(chosen, drawn, creation.fill(array.shape(drawn), -1))

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None) -> Any:
        with name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs", [time, outputs, state, sample_ids]):
            finished, true_inputs, state = super().next_inputs(time, outputs, state, sample_ids)
            sampled = self._embedding_fn(math.maximum(sample_ids, 0))
            inputs = indexing.where(sample_ids > -1, sampled, true_inputs)
            inputs.set_shape(true_inputs.shape)
            return finished, inputs, state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Scheduled sampling of outputs: with some probability the next input is made of the last output.

    Args:
      inputs: The true inputs [batch, time, ...].
      sequence_length: The length of each sequence, an int32 vector [batch].
      sampling_probability: How often an output is used: a float32 scalar, or a vector with one number for each sequence.
      time_major: True if the inputs are [time, batch, ...].
      seed: The seed of the choice between the true input and the output.
      next_inputs_fn: A function from the outputs to the next inputs; None uses the outputs as they are.
      auxiliary_inputs: Further inputs [batch, time, ...], joined to either; None for none.
      name: The name scope of the ops.

    >>> helper = tf.contrib.seq2seq.ScheduledOutputTrainingHelper(
    ...     tf.zeros([2, 5, 3]), sequence_length=[5, 2], sampling_probability=0.1)
    >>> finished, inputs = helper.initialize()
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, sampling_probability: Any, time_major: bool = False,
        seed: int | None = None, next_inputs_fn: Callable[..., Any] | None = None, auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        with name_scope(name, "ScheduledOutputTrainingHelper", [inputs, auxiliary_inputs, sampling_probability]):
            self._probability = convert_to_tensor(sampling_probability, name="sampling_probability")
            if self._probability.shape.ndims not in (0, 1):
                raise ValueError(
                    f"sampling_probability must be either a scalar or a vector. saw shape: {self._probability.shape}"
                )
            self._next_inputs_fn = next_inputs_fn or (lambda outputs: outputs)
            self._seed = seed
            self._auxiliary = auxiliary_inputs
            if auxiliary_inputs is not None:
                inputs = nest.map_structure(lambda i, a: array.concat([i, a], -1), inputs, auxiliary_inputs)
                turned = auxiliary_inputs if time_major else nest.map_structure(transpose_batch_time, auxiliary_inputs)
                self._auxiliary_tas = nest.map_structure(_unstacked, turned)
        super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    @property
    def sample_ids_dtype(self) -> Any:
        return dtypes.bool

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs, state]):
            return _bernoulli(self._probability, self._batch_size, self._seed)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None) -> Any:
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs", [time, outputs, state, sample_ids]):
            finished, true_inputs, state = super().next_inputs(time, outputs, state, sample_ids)
            next_inputs = self._next_inputs_fn(outputs)
            if self._auxiliary is not None:
                last = nest.map_structure(lambda ta: ta.size() - 1, self._auxiliary_tas)
                next_inputs = nest.map_structure(
                    lambda m, ta, end: array.concat([m, ta.read(math.minimum(time + 1, end))], -1),
                    next_inputs, self._auxiliary_tas, last,
                )  # fmt: skip
            inputs = nest.map_structure(lambda m, t: indexing.where(sample_ids, m, t), next_inputs, true_inputs)
            nest.map_structure(lambda i, t: i.set_shape(t.shape), inputs, true_inputs)
            return finished, inputs, state


def _bernoulli(probability: Any, batch_size: Any, seed: int | None) -> Any:
    """True with a probability, for each sequence of the batch."""
    return random.random_uniform([batch_size], seed=seed, dtype=probability.dtype.base_dtype) < probability


def _draw(logits: Any, seed: int | None) -> Any:
    """One id for each row of logits."""
    return array.reshape(random.multinomial(logits, 1, seed=seed, output_dtype=dtypes.int32), [-1])


class GreedyEmbeddingHelper(_IdHelper):
    """The next input is the embedding of the most likely id, until ``end_token``.

    Args:
      embedding: The table of embeddings [ids, size], or a function from ids to embeddings.
      start_tokens: The first id of each sequence, int32 [batch].
      end_token: The id with which a sequence ends, an int32 scalar.

    >>> helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(tf.zeros([4, 3]), start_tokens=[0, 0], end_token=1)
    >>> finished, inputs = helper.initialize()
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)
        self._start_tokens = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        self._end_token = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = array.size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> Any:
        return creation.fill([self._batch_size], False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return math.cast(reduction.argmax(_only(outputs), axis=-1), dtypes.int32)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        finished = math.equal(sample_ids, self._end_token)
        inputs = cond(
            reduction.reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding_fn(sample_ids)
        )
        inputs.set_shape(self._start_inputs.shape)
        return finished, inputs, state


def _only(outputs: Any) -> Any:
    if nest.is_sequence(outputs):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
    return outputs


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """The next input is the embedding of an id drawn from the outputs, sharper with a lower ``softmax_temperature``.

    Args:
      embedding: The table of embeddings [ids, size], or a function from ids to embeddings.
      start_tokens: The first id of each sequence, int32 [batch].
      end_token: The id with which a sequence ends, an int32 scalar.
      softmax_temperature: What the outputs are divided by before an id is drawn; None for 1.
      seed: The seed of the ids.

    >>> helper = tf.contrib.seq2seq.SampleEmbeddingHelper(
    ...     tf.zeros([4, 3]), start_tokens=[0, 0], end_token=1, softmax_temperature=0.5)
    >>> finished, inputs = helper.initialize()
    """

    def __init__(
        self, embedding: Any, start_tokens: Any, end_token: Any, softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        logits = _only(outputs)
        return _draw(logits if self._softmax_temperature is None else logits / self._softmax_temperature, self._seed)


class InferenceHelper(Helper):
    """Decoding with any samples: ``sample_fn`` of the outputs, ``end_fn`` of the samples.

    Args:
      sample_fn: A function from the outputs of a step to samples.
      sample_shape: The shape of a sample without the batch.
      sample_dtype: The type of the samples.
      start_inputs: The inputs of the first step, [batch, ...].
      end_fn: A function from samples to bools [batch]: which sequences end with them.
      next_inputs_fn: A function from samples to the next inputs; None uses the samples as they are.

    >>> helper = tf.contrib.seq2seq.InferenceHelper(
    ...     sample_fn=tf.sign, sample_shape=[3], sample_dtype=tf.float32, start_inputs=tf.zeros([2, 3]),
    ...     end_fn=lambda samples: tf.reduce_all(samples > 0, axis=1))
    >>> finished, inputs = helper.initialize()
    """

    def __init__(
        self, sample_fn: Callable[[Any], Any], sample_shape: Any, sample_dtype: Any, start_inputs: Any,
        end_fn: Callable[[Any], Any], next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:  # fmt: skip
        self._sample_fn = sample_fn
        self._end_fn = end_fn
        self._sample_shape = TensorShape(sample_shape)
        self._sample_dtype = sample_dtype
        self._next_inputs_fn = next_inputs_fn
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = array.shape(self._start_inputs)[0]

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._sample_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_dtype

    def initialize(self, name: str | None = None) -> Any:
        return creation.fill([self._batch_size], False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state
