"""tfdbg, TensorFlow's debugger of sessions (``tensorflow.python.debug``), as far as dumping and printing."""

from headrace.library.debugging.tfdbg.dump_dir import DebugDumpDir as DebugDumpDir
from headrace.library.debugging.tfdbg.dump_dir import DebugTensorDatum as DebugTensorDatum
from headrace.library.debugging.tfdbg.dump_dir import has_inf_or_nan as has_inf_or_nan
from headrace.library.debugging.tfdbg.dump_dir import load_tensor_from_event as load_tensor_from_event
from headrace.library.debugging.tfdbg.dump_dir import load_tensor_from_event_file as load_tensor_from_event_file
from headrace.library.debugging.tfdbg.hook import DumpingDebugHook as DumpingDebugHook
from headrace.library.debugging.tfdbg.hook import LocalCLIDebugHook as LocalCLIDebugHook
from headrace.library.debugging.tfdbg.watch import WatchOptions as WatchOptions
from headrace.library.debugging.tfdbg.watch import add_debug_tensor_watch as add_debug_tensor_watch
from headrace.library.debugging.tfdbg.watch import watch_graph as watch_graph
from headrace.library.debugging.tfdbg.watch import watch_graph_with_blacklists as watch_graph_with_blacklists
from headrace.library.debugging.tfdbg.wrapper import DumpingDebugWrapperSession as DumpingDebugWrapperSession
from headrace.library.debugging.tfdbg.wrapper import LocalCLIDebugWrapperSession as LocalCLIDebugWrapperSession
