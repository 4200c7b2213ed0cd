"""Where the names of a TensorFlow module are in Headrace.

TensorFlow's public modules have the same place here: ``tensorflow.nn`` is ``headrace.nn``.  Programs also import modules
that were never public, ``tensorflow.python.ops.array_ops`` and the like; the table says where to look for what those hold.
"""

from __future__ import annotations

# Module -> the places where its names are, the first one that has a name wins; "" is the top.
_PYTHON = """
client.client_lib            .
client.device_lib            library.system.device_list
client.session               . client.conversion
client.timeline              profiler
compat.compat                compat
data.experimental.ops.batching data.experimental
data.experimental.ops.cardinality data.experimental
data.experimental.ops.counter data.experimental
data.experimental.ops.enumerate_ops data.experimental
data.experimental.ops.error_ops data.experimental
data.experimental.ops.get_single_element data.experimental
data.experimental.ops.grouping data.experimental
data.experimental.ops.interleave_ops data.experimental
data.experimental.ops.iterator_ops data.experimental
data.experimental.ops.parsing_ops data.experimental
data.experimental.ops.random_ops data.experimental
data.experimental.ops.readers data.experimental
data.experimental.ops.resampling data.experimental
data.experimental.ops.scan_ops data.experimental
data.experimental.ops.shuffle_ops data.experimental
data.experimental.ops.take_while_ops data.experimental
data.experimental.ops.unique data.experimental
data.ops.dataset_ops         data library.data.dataset
data.ops.iterator_ops        data library.data.iterator
data.ops.readers             data
data.util.nest               nest
debug                        library.debugging.tfdbg
debug.lib.debug_data         library.debugging.tfdbg library.debugging.tfdbg.dump_dir
debug.lib.debug_utils        library.debugging.tfdbg
debug.wrappers.dumping_wrapper library.debugging.tfdbg
debug.wrappers.framework     library.debugging.tfdbg
debug.wrappers.hooks         library.debugging.tfdbg
debug.wrappers.local_cli_wrapper library.debugging.tfdbg
eager.backprop               .
eager.context                .
eager.def_function           .
eager.function               contrib.eager .
eager.test                   test
estimator.canned.dnn         estimator
estimator.canned.head        estimator
estimator.canned.linear      estimator
estimator.estimator          estimator library.estimator.private_name
estimator.estimator_lib      estimator
estimator.export.export      estimator.export
estimator.export.export_output estimator.export
estimator.inputs.inputs      estimator.inputs
estimator.inputs.numpy_io    estimator.inputs
estimator.inputs.pandas_io   estimator.inputs
estimator.model_fn           estimator library.estimator.private_name
estimator.run_config         estimator
estimator.training           estimator
estimator.util               library.estimator.private_name library.system.callable
feature_column.feature_column feature_column
feature_column.feature_column_lib feature_column
feature_column.feature_column_v2 feature_column
framework.common_shapes      .
framework.config             config config.threading config.optimizer config.experimental
framework.constant_op        .
framework.device             .
framework.dtypes             . library.system.private_name
framework.errors             errors
framework.errors_impl        errors
framework.function           .
framework.graph_io           train io
framework.graph_util         graph_util
framework.graph_util_impl    graph_util
framework.importer           .
framework.indexed_slices     .
framework.load_library       .
framework.meta_graph         library.train.saver.meta_graph library.train.saver.collection_def train
framework.ops                . library.system.private_name library.train.saver.proto_function
framework.random_seed        random .
framework.smart_cond         contrib.framework
framework.sparse_tensor      .
framework.tensor_conversion  .
framework.tensor_shape       . core.shape
framework.tensor_spec        .
framework.tensor_util        . contrib.util
framework.test_util          test library.testing.test_case library.testing.decorator
framework.type_spec          .
framework.versions           . version
grappler.tf_optimizer        library.system.grappler
keras                        keras
keras.activations            keras.activations
keras.backend                keras.backend library.backend.keras_tensor library.backend.naming library.backend.graph
keras.callbacks              keras.callbacks
keras.constraints            keras.constraints
keras.engine.base_layer      keras.layers library.layers.base_layer library.layers.input_layer
keras.engine.input_layer     keras.layers library.layers.input_layer
keras.engine.input_spec      keras.layers
keras.engine.network         library.keras.engine.network
keras.engine.node            library.layers.node
keras.engine.sequential      keras.models
keras.engine.training        keras.models keras
keras.initializers           keras.initializers
keras.layers                 keras.layers
keras.losses                 keras.losses
keras.metrics                keras.metrics
keras.models                 keras.models
keras.optimizers             keras.optimizers
keras.preprocessing          keras.preprocessing
keras.regularizers           keras.regularizers
keras.utils                  keras.utils
keras.utils.generic_utils    keras.utils library.layers.named_object
layers.base                  layers
layers.convolutional         layers
layers.core                  layers
layers.layers                layers
layers.normalization         layers
layers.pooling               layers
layers.utils                 contrib.slim.utils
lib.io.file_io               library.system.file_io gfile io.gfile
lib.io.python_io             python_io
lib.io.tf_record             python_io
ops.array_grad               .
ops.array_ops                .
ops.array_ops_stack          .
ops.bitwise_ops              bitwise
ops.candidate_sampling_ops   nn
ops.check_ops                . debugging
ops.clip_ops                 .
ops.cond_v2                  .
ops.confusion_matrix         math .
ops.control_flow_grad        .
ops.control_flow_ops         library.control.primitive . library.system.private_name
ops.critical_section_ops     .
ops.ctc_ops                  nn
ops.custom_gradient          .
ops.data_flow_grad           .
ops.data_flow_ops            . queue library.queue.barrier library.queue.staging library.input.record_input
ops.distributions            distributions
ops.distributions.bernoulli  distributions
ops.distributions.beta       distributions
ops.distributions.categorical distributions
ops.distributions.dirichlet  distributions
ops.distributions.distribution distributions
ops.distributions.distributions distributions
ops.distributions.exponential distributions
ops.distributions.gamma      distributions
ops.distributions.kullback_leibler distributions
ops.distributions.laplace    distributions
ops.distributions.multinomial distributions
ops.distributions.normal     distributions
ops.distributions.student_t  distributions
ops.distributions.uniform    distributions
ops.embedding_ops            nn
ops.functional_ops           .
ops.gen_array_ops            library.system.generated_ops .
ops.gen_audio_ops            library.signal.audio audio library.system.generated_ops
ops.gen_bitwise_ops          library.system.generated_ops
ops.gen_candidate_sampling_ops library.system.generated_ops
ops.gen_control_flow_ops     library.system.generated_ops
ops.gen_ctc_ops              library.system.generated_ops
ops.gen_data_flow_ops        library.system.generated_ops
ops.gen_functional_ops       library.system.generated_ops
ops.gen_image_ops            library.system.generated_ops
ops.gen_io_ops               library.system.generated_ops
ops.gen_linalg_ops           library.system.generated_ops
ops.gen_list_ops             library.system.generated_ops
ops.gen_logging_ops          library.system.generated_ops
ops.gen_lookup_ops           library.system.generated_ops
ops.gen_manip_ops            library.system.generated_ops
ops.gen_math_ops             library.system.generated_ops . math
ops.gen_nn_ops               library.system.generated_ops nn
ops.gen_parsing_ops          library.system.generated_ops
ops.gen_random_ops           library.system.generated_ops
ops.gen_resource_variable_ops library.system.generated_ops
ops.gen_script_ops           library.system.generated_ops
ops.gen_set_ops              library.system.generated_ops
ops.gen_sparse_ops           library.system.generated_ops
ops.gen_spectral_ops         library.system.generated_ops
ops.gen_state_ops            library.system.generated_ops .
ops.gen_stateless_random_ops library.system.generated_ops
ops.gen_string_ops           library.system.generated_ops
ops.gen_summary_ops          library.system.generated_ops
ops.gradient_checker         test
ops.gradients                .
ops.gradients_impl           .
ops.gradients_util           .
ops.histogram_ops            .
ops.image_grad               .
ops.image_ops                image
ops.image_ops_impl           image
ops.init_ops                 . initializers library.state.initializers library.state.private_name
ops.io_ops                   . train library.system.generated_ops
ops.linalg                   linalg
ops.linalg.linalg            linalg
ops.linalg.linalg_impl       linalg .
ops.linalg.linear_operator   linalg
ops.linalg_grad              .
ops.linalg_ops               linalg .
ops.logging_ops              .
ops.lookup_ops               lookup . contrib.lookup library.text.lookup
ops.losses                   losses
ops.losses.losses            losses
ops.losses.losses_impl       losses
ops.losses.util              losses
ops.manip_ops                manip
ops.map_fn                   .
ops.math_grad                .
ops.math_ops                 . math
ops.metrics                  metrics
ops.metrics_impl             metrics
ops.nn                       nn
ops.nn_fused_batchnorm       nn
ops.nn_grad                  .
ops.nn_impl                  nn
ops.nn_ops                   nn
ops.numerics                 .
ops.parsing_ops              . io
ops.partitioned_variables    .
ops.quantized_ops            quantization
ops.random_ops               . random
ops.resource_variable_ops    library.state.resource_variable raw_ops . library.train.saver.variable_message
ops.rnn                      nn library.rnn.private
ops.rnn_cell                 nn.rnn_cell library.rnn.private
ops.rnn_cell_impl            nn.rnn_cell library.rnn.cell library.rnn.private
ops.rnn_grad                 .
ops.script_ops               .
ops.seq2seq                  contrib.legacy_seq2seq
ops.session_ops              . library.state.session_tensor
ops.sets                     sets
ops.sets_impl                sets
ops.signal                   signal
ops.signal.dct_ops           signal
ops.signal.fft_ops           signal spectral .
ops.signal.mel_ops           signal
ops.signal.mfcc_ops          signal
ops.signal.reconstruction_ops signal
ops.signal.shape_ops         signal
ops.signal.signal            signal
ops.signal.spectral_ops      signal
ops.signal.window_ops        signal
ops.sort_ops                 .
ops.sparse_grad              .
ops.sparse_ops               . sparse
ops.special_math_ops         . math
ops.spectral_ops             signal spectral
ops.standard_ops             .
ops.state_grad               .
ops.state_ops                .
ops.stateless_random_ops     random
ops.string_ops               strings .
ops.summary_ops              summary
ops.summary_ops_v2           contrib.summary
ops.template                 .
ops.tensor_array_ops         .
ops.unconnected_gradients    .
ops.variable_scope           . library.state.private_name
ops.variable_v1              . library.system.private_name
ops.variables                . library.system.private_name library.state.private_name
ops.while_v2                 .
platform.app                 app
platform.benchmark           test
platform.flags               flags
platform.gfile               gfile
platform.googletest          test
platform.resource_loader     resource_loader
platform.sysconfig           sysconfig
platform.test                test
platform.tf_logging          logging
profiler.model_analyzer      profiler
profiler.option_builder      profiler
profiler.profiler            profiler
profiler.tfprof_logger       profiler
pywrap_tensorflow            train raw_ops resources.file.events_writer
saved_model.builder          saved_model.builder
saved_model.builder_impl     saved_model.builder
saved_model.constants        saved_model.constants
saved_model.loader           saved_model.loader
saved_model.loader_impl      saved_model.loader
saved_model.main_op          saved_model.main_op
saved_model.main_op_impl     saved_model.main_op
saved_model.signature_constants saved_model.signature_constants
saved_model.signature_def_utils saved_model.signature_def_utils
saved_model.signature_def_utils_impl saved_model.signature_def_utils
saved_model.simple_save      saved_model
saved_model.tag_constants    saved_model.tag_constants
saved_model.utils            saved_model.utils
saved_model.utils_impl       saved_model.utils
summary.summary              summary
summary.summary_iterator     train
summary.text_summary         summary
summary.writer.writer        summary
summary.writer.writer_cache  summary
tools.freeze_graph           tools.freeze_graph graph_util
training.adadelta            train
training.adagrad             train
training.adagrad_da          train
training.adam                train
training.basic_session_run_hooks train estimator
training.checkpoint_management train
training.checkpointable.base contrib.checkpoint
training.checkpointable.data_structures contrib.checkpoint
training.checkpointable.python_state train.experimental contrib.checkpoint
training.checkpointable.tracking contrib.checkpoint
training.checkpointable.util train contrib.checkpoint
training.checkpoint_utils    train
training.coordinator         train
training.device_setter       train library.train.replica.device_setter
training.evaluation          contrib.training library.train.hook.private_name
training.ftrl                train
training.gen_training_ops    library.system.generated_ops
training.gradient_descent    train
training.input               train
training.learning_rate_decay train
training.momentum            train
training.monitored_session   train library.train.session.monitored_session library.train.session.wrapped_session
training.moving_averages     train library.train.moving_averages
training.optimizer           train
training.proximal_adagrad    train
training.proximal_gradient_descent train
training.py_checkpoint_reader train
training.queue_runner        train
training.queue_runner_impl   train
training.rmsprop             train
training.saver               train
training.server_lib          train
training.session_manager     train
training.session_run_hook    train
training.slot_creator        library.train.optimizer.slot_creator
training.summary_io          summary train
training.supervisor          train
training.sync_replicas_optimizer train
training.tracking.base       contrib.checkpoint
training.tracking.data_structures contrib.checkpoint
training.tracking.python_state train.experimental contrib.checkpoint
training.tracking.tracking   contrib.checkpoint
training.tracking.util       train contrib.checkpoint
training.training            train
training.training_ops        raw_ops
training.training_util       train
training.warm_starting_util  train
util.compat                  compat
util.deprecation             library.system.decorators
util.function_utils          library.system.callable
util.nest                    nest
util.tf_contextlib           library.system.decorators
util.tf_decorator            library.system.decorators
util.tf_export               library.system.decorators
util.tf_inspect              library.system.inspect
"""

_CORE = """
core.example.example_pb2             train
core.example.feature_pb2             train
core.framework.attr_value_pb2        core.proto
core.framework.graph_pb2             core.proto
core.framework.node_def_pb2          core.proto
core.framework.step_stats_pb2        .
core.framework.summary_pb2           . summary
core.framework.tensor_pb2            core.proto
core.framework.tensor_shape_pb2      core.proto
core.framework.types_pb2             core.proto
core.framework.variable_pb2          core.proto
core.framework.versions_pb2          core.proto
core.protobuf.cluster_pb2            train
core.protobuf.config_pb2             .
core.protobuf.meta_graph_pb2         .
core.protobuf.queue_runner_pb2       core.queue_runner_def
core.protobuf.rewriter_config_pb2    core.config
core.protobuf.saver_pb2              train
core.protobuf.tensorflow_server_pb2  train
core.util.event_pb2                  . summary
google                               .
tools
tools.graph_transforms               library.system.graph_transforms
contrib.learn.python.learn.datasets.base  contrib.learn.datasets.base
contrib.learn.python.learn.utils     contrib.learn.utils
contrib.learn.python.learn.datasets.mnist   examples.tutorials.mnist.input_data
contrib.learn.python.learn.estimators.model_fn  contrib.learn
contrib.learn.python.learn.estimators.run_config  contrib.learn
contrib.learn.python.learn.learn_runner  contrib.learn.learn_runner
contrib.learn.python.learn.metric_spec  contrib.learn
contrib.rnn.python.ops.core_rnn_cell  contrib.rnn library.rnn.private
contrib.rnn.python.ops.core_rnn_cell_impl  contrib.rnn library.rnn.private
contrib.learn.datasets.mnist         examples.tutorials.mnist.input_data
contrib.framework.python.ops.audio_ops  library.signal.audio
contrib.image.python.ops.distort_image_ops  contrib.image
contrib.image.python.ops.image_ops   contrib.image
contrib.image.python.ops.dense_image_warp  contrib.image
contrib.layers.python.layers.initializers  contrib.layers
contrib.layers.python.layers.utils   contrib.slim.utils
contrib.slim.python.slim.data.data_decoder  contrib.slim.data_decoder
contrib.slim.python.slim.data.data_provider  contrib.slim.data_provider
contrib.slim.python.slim.data.dataset  contrib.slim.dataset
contrib.slim.python.slim.data.dataset_data_provider  contrib.slim.dataset_data_provider
contrib.slim.python.slim.data.parallel_reader  contrib.slim.parallel_reader
contrib.slim.python.slim.data.prefetch_queue  contrib.slim.prefetch_queue
contrib.slim.python.slim.data.tfexample_decoder  contrib.slim.tfexample_decoder
contrib.slim.python.slim.evaluation  contrib.slim.evaluation
contrib.slim.python.slim.learning  contrib.slim.learning
contrib.slim.python.slim.model_analyzer  contrib.slim.model_analyzer
contrib.slim.python.slim.queues  contrib.slim.queues
contrib.slim.python.slim.summaries  contrib.slim.summaries
"""


def _table() -> dict[str, tuple[str, ...]]:
    table = {}
    for prefix, text in (("python.", _PYTHON), ("", _CORE)):
        for line in text.split("\n"):
            module, *places = line.split() or [""]
            if module:
                table[prefix + module] = tuple("" if place == "." else place for place in places)
    return table


MODULES = _table()
KNOWN = MODULES.keys() | {name.rsplit(".", depth)[0] for name in MODULES for depth in range(1, name.count(".") + 1)}


def places(module: str) -> tuple[str, ...] | None:
    """Where the names of ``tensorflow.<module>`` may be, below ``headrace``, in order; None if that cannot be said.

    An empty tuple is a package that holds nothing but other modules.
    """
    for whole in ("compat.v1", "_api.v1"):
        if module == whole or module.startswith(f"{whole}."):
            module = module[len(whole) + 1 :]
            break
    if module in MODULES:
        return MODULES[module]
    if module == "python":
        return ("",)
    if module.startswith("contrib.") and ".python" in module:
        last = module.rpartition(".")[2]
        if last.startswith("_") or not last.islower():
            return None  # no module has such a name: it was a function's or a class's
        if ".nets" in module:
            return (f"contrib.slim.nets{module.partition('.nets')[2]}",)
        return (
            module.partition(".python")[0],
        )  # contrib.layers.python.layers and the like: all of it is in contrib.layers
    if module.startswith(("python.", "core.")) or module == "core":
        return () if module in KNOWN else None
    return (module,)
