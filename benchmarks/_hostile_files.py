"""Files that lie: valid ones of each kind with bytes changed, read by processes that may not crash, hang or take much memory.

The limits of ``headrace.core.file_limits`` are lowered to ``LIMIT``, so that a reader that ignores them shows.  A file fails if
its reader ends by anything but an error that a program expects, takes over ``PATIENCE_S`` seconds, or takes more memory than
four times the limit and what the reader itself needs.
"""

import argparse
import faulthandler
import io
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LIMIT = 1 << 23  # bytes that a file may ask for
OWN = 48 << 20  # bytes that a reader may take for itself: buffers, messages, a plan
MOST_MEMORY = 4 * LIMIT + OWN
CEILING = 2 << 30  # bytes of address space beyond what the process has; a safety net for the machine
PATIENCE_S = 20
NUMBERS = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0xFFFF,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
]


# ---- valid files


def _pixels(channels, dtype="uint8"):
    import numpy as np

    return np.random.RandomState(0).randint(0, 255, (9, 11, channels)).astype(dtype)


def _image(format, **options):
    from PIL import Image

    written = io.BytesIO()
    Image.fromarray(_pixels(3)).save(written, format, **options)
    return written.getvalue()


def _gif():
    from PIL import Image

    frames = [Image.fromarray(_pixels(3)).rotate(angle) for angle in (0, 90, 180)]
    return _image("GIF", save_all=True, append_images=frames)


def _wide_png():
    from headrace.ops.shared.wide_png import write_wide

    return write_wide(_pixels(3, "uint16"), 6)


def _wav():
    import numpy as np

    from headrace.ops.shared.wav import wav_bytes

    return wav_bytes(np.random.RandomState(0).rand(50, 2).astype("float32"), 8000)


def _records(count=5):
    from headrace.core.record import frame

    return b"".join(frame(bytes([i]) * (10 + i)) for i in range(count))


def _gzipped(data):
    compress = zlib.compressobj(1, zlib.DEFLATED, 31)
    return compress.compress(data) + compress.flush()


def _events():
    from headrace.core import event
    from headrace.core.record import frame

    return frame(event.event(1.0, None, event.FILE_VERSION, b"brain.Event:2")) + frame(
        event.event(2.0, 5, event.FILE_VERSION, b"x")
    )


def _graph():
    """A graph with constants of several kinds, a variable, a loop, and what saves it."""
    import headrace as tf

    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", initializer=tf.constant([[1.0], [2.0], [3.0]]))
        words = tf.constant([b"a", b"bc"], name="words")
        repeated = tf.constant(2.0, shape=[4, 5], name="repeated")
        loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
        tf.group(tf.matmul(x, w), words, repeated, loop, name="all")
        saver = tf.train.Saver()
    return graph, saver


def _meta_graph(as_text=False):
    import headrace as tf

    graph, saver = _graph()
    with graph.as_default():
        message = tf.train.export_meta_graph(saver_def=saver.as_saver_def())
    if not as_text:
        return message.SerializeToString()
    from google.protobuf import text_format

    return text_format.MessageToString(message).encode()


def _saved_model(as_text=False):
    import headrace as tf

    graph, _ = _graph()
    with graph.as_default(), tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(f"{folder}/model")
        builder.add_meta_graph_and_variables(session, ["serve"])
        return Path(os.fsdecode(builder.save(as_text))).read_bytes()


def _checkpoint(part):
    import numpy as np

    from headrace.core import dtypes
    from headrace.resources.file.bundle.writer import BundleWriter, array_pieces

    with tempfile.TemporaryDirectory() as folder:
        with BundleWriter(f"{folder}/model") as writer:
            numbers = np.arange(12, dtype=np.float32)
            writer.add("a", dtypes.float32, (3, 4), array_pieces(numbers))
            writer.add("b", dtypes.float32, (6, 2), array_pieces(numbers), ((12, 2), ((0, 6), (0, 2))))
            writer.add_strings("c", np.array([b"x", b"yz"], object))
        return next(Path(folder).glob(f"*{part}*")).read_bytes()


def _safetensors():
    import numpy as np

    from headrace.core import dtypes
    from headrace.resources.file.safetensors_file import TensorEntry, write_safetensors

    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(4, bool)}
    entries = {"a": TensorEntry(dtypes.float32, (2, 3)), "b": TensorEntry(dtypes.bool, (4,))}
    with tempfile.TemporaryDirectory() as folder:
        write_safetensors(f"{folder}/file", entries, arrays.__getitem__)
        return Path(f"{folder}/file").read_bytes()


# ---- reading them


def _run(make):
    """Reads by one op in a session."""

    def read(path):
        import headrace as tf

        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile="off")) as session:
            data = tf.placeholder(tf.string, [])
            session.run(make(tf, data), {data: Path(path).read_bytes()})

    return read


def _read_records(path, compression=""):
    from headrace.core.file import open_to_read
    from headrace.core.record import read_records

    with open_to_read(path, compression) as file:
        for _ in read_records(file, path):
            pass


def _read_events(path):
    import headrace as tf

    for _ in tf.train.summary_iterator(path):
        pass


def _import_graph(path):
    import headrace as tf

    graph_def = tf.GraphDef.FromString(Path(path).read_bytes())
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")


def _import_meta_graph(path):
    import headrace as tf

    with tf.Graph().as_default():
        tf.train.import_meta_graph(path)


def _load_model(name):
    def read(path):
        import headrace as tf

        with tempfile.TemporaryDirectory() as folder:
            os.symlink(path, f"{folder}/{name}")
            os.mkdir(f"{folder}/variables")
            with tf.Graph().as_default(), tf.Session() as session:
                tf.saved_model.loader.load(session, ["serve"], folder)

    return read


def _read_checkpoint(part):
    def read(path):
        import headrace as tf

        other = {"index": "data-00000-of-00001", "data-00000-of-00001": "index"}[part]
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(path, f"{folder}/model.{part}")
            Path(f"{folder}/model.{other}").write_bytes(VALID[f"checkpoint {other.partition('-')[0]}"])
            reader = tf.train.load_checkpoint(f"{folder}/model")
            for name in reader.get_variable_to_shape_map():
                reader.get_tensor(name)

    return read


def _read_safetensors(path):
    from headrace.resources.file.safetensors_file import SafetensorsFile

    with SafetensorsFile(path) as file:
        for name in file.entries:
            file.read(name)


# ---- checksums, which would refuse nearly every change


def _png_checksums(data):
    out, at = bytearray(data[:8]), 8
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        body = bytes(data[at + 4 : at + 8 + size])
        out += data[at : at + 4] + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + size
    return bytes(out + data[at:])


def _record_checksums(data):
    from headrace.core.checksum import masked_crc

    out, at = bytearray(), 0
    while at + 16 <= len(data):
        length = bytes(data[at : at + 8])
        size = int.from_bytes(length, "little")
        record = bytes(data[at + 12 : at + 12 + size])
        out += length + struct.pack("<I", masked_crc(length)) + record + struct.pack("<I", masked_crc(record))
        at += 16 + size
    return bytes(out + data[at:])


def _table_checksums(data):
    """Of the blocks that the index of the unchanged file names: changes keep their places, mostly."""
    from headrace.core.checksum import crc32c, masked

    out = bytearray(data)
    for offset, size in _table_blocks():
        if offset + size + 5 <= len(out):
            struct.pack_into("<I", out, offset + size + 1, masked(crc32c(bytes(out[offset : offset + size + 1]))))
    return bytes(out)


def _table_blocks():
    from headrace.core import wire

    footer = VALID["checkpoint index"][-48:]
    places, at = [], 0
    for _ in range(4):
        number, at = wire.read_varint(footer, at)
        places.append(number)
    meta, index = tuple(places[:2]), tuple(places[2:])
    return [(0, meta[0] - 5), meta, index]


# name: (how a valid one is made, how it is read, how its checksums are mended)
KINDS = {
    "png": (lambda: _image("PNG"), _run(lambda tf, x: tf.image.decode_png(x)), _png_checksums),
    "wide png": (_wide_png, _run(lambda tf, x: tf.image.decode_png(x, dtype=tf.uint16)), _png_checksums),
    "grey png": (lambda: _image("PNG"), _run(lambda tf, x: tf.image.decode_png(x, channels=1)), _png_checksums),
    "jpeg": (lambda: _image("JPEG"), _run(lambda tf, x: tf.image.decode_jpeg(x, try_recover_truncated=True)), None),
    "gif": (_gif, _run(lambda tf, x: tf.image.decode_gif(x)), None),
    "bmp": (lambda: _image("BMP"), _run(lambda tf, x: tf.image.decode_bmp(x)), None),
    "any image": (lambda: _image("BMP"), _run(lambda tf, x: tf.image.decode_image(x)), None),
    "wav": (_wav, _run(lambda tf, x: tf.audio.decode_wav(x)), None),
    "zlib": (lambda: zlib.compress(bytes(1 << 16)), _run(lambda tf, x: tf.io.decode_compressed(x, "ZLIB")), None),
    "gzip": (lambda: _gzipped(bytes(1 << 16)), _run(lambda tf, x: tf.io.decode_compressed(x, "GZIP")), None),
    "tensor": (
        lambda: _constant((2, 3)), _run(lambda tf, x: tf.io.parse_tensor(x, tf.float32)), None
    ),
    "records": (_records, _read_records, _record_checksums),
    "packed records": (lambda: _gzipped(_records(50)), lambda path: _read_records(path, "GZIP"), None),
    "events": (_events, _read_events, _record_checksums),
    "checkpoint index": (lambda: _checkpoint("index"), _read_checkpoint("index"), _table_checksums),
    "checkpoint data": (lambda: _checkpoint("data"), _read_checkpoint("data-00000-of-00001"), None),
    "safetensors": (_safetensors, _read_safetensors, None),
    "graph": (lambda: _graph()[0].as_graph_def().SerializeToString(), _import_graph, None),
    "meta graph": (_meta_graph, _import_meta_graph, None),
    "meta graph as text": (lambda: _meta_graph(True), _import_meta_graph, None),
    "saved model": (_saved_model, _load_model("saved_model.pb"), None),
    "saved model as text": (lambda: _saved_model(True), _load_model("saved_model.pbtxt"), None),
}  # fmt: skip
VALID: dict[str, bytes] = {}


def _constant(shape):
    import numpy as np

    from headrace.core import dtypes, tensor_proto

    return tensor_proto.encode(np.ones(shape, np.float32), dtypes.float32)


# ---- changes


def changed(draw: random.Random, data: bytes) -> bytes:
    """The file with one to four changes."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        if not out:
            break
        draw.choice((_flip, _flip, _number, _number, _digits, _varint, _cut, _repeat, _noise))(draw, out)
    return bytes(out)


def _flip(draw, out):
    out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)


def _number(draw, out):
    width = draw.choice((1, 2, 4, 8))
    value = draw.choice(NUMBERS) % (1 << 8 * width)
    at = draw.randrange(len(out))
    out[at : at + width] = value.to_bytes(width, draw.choice(("little", "big")))


def _varint(draw, out):
    from headrace.core import wire

    at = draw.randrange(len(out))
    out[at : at + 1] = wire.varint(draw.choice(NUMBERS))


def _digits(draw, out):
    """Another number, where the file is text."""
    found = list(re.finditer(rb"\d+", bytes(out[:20_000])))
    if found:
        place = draw.choice(found)
        out[place.start() : place.end()] = str(draw.choice((-1, *NUMBERS))).encode()


def _cut(draw, out):
    at = draw.randrange(len(out))
    del out[at : draw.choice((len(out), at + draw.randrange(1, 9)))]


def _repeat(draw, out):
    at = draw.randrange(len(out))
    piece = out[at : at + draw.randrange(1, 64)]
    out[at:at] = piece * draw.choice((1, 3, 200))


def _noise(draw, out):
    at = draw.randrange(len(out))
    out[at : at + draw.randrange(1, 16)] = draw.randbytes(draw.randrange(16))


# ---- one process


def _peak() -> int:
    """The most memory this process had since the last call, in bytes."""
    text = Path("/proc/self/status").read_text()
    Path("/proc/self/clear_refs").write_text("5")
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) << 10


def _now() -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1]) << 10


def lower_limits() -> None:
    """Has this process refuse what larger processes would read."""
    from headrace.core import file_limits

    for name in ("IMAGE_ELEMENTS", "UNPACKED_BYTES", "RECORD_BYTES", "REPEATED_BYTES"):
        setattr(file_limits, name, LIMIT)


def attempt(kind: str, data: bytes, folder: str) -> str:
    """Reads the file; what is wrong with how that ended, or nothing."""
    import headrace as tf

    expected = (tf.errors.OpError, ValueError, TypeError, OSError, KeyError, _decode_error())
    path = f"{folder}/file"
    Path(path).write_bytes(data)
    before = _now()
    _peak()
    try:
        KINDS[kind][1](path)
    except expected as error:
        if isinstance(error, (tf.errors.InternalError, tf.errors.UnknownError, tf.errors.ResourceExhaustedError)):
            return f"{type(error).__name__}: {str(error)[:300]}"
    except RuntimeError as error:
        if "could not be found in SavedModel" not in str(error):  # its tags were changed
            return f"{type(error).__name__}: {str(error)[:300]}"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"{type(error).__name__}: {str(error)[:300]}"
    grown = _peak() - before
    return f"took {grown >> 20} MB" if grown > MOST_MEMORY + 4 * len(data) else ""


def _decode_error():
    from google.protobuf.message import DecodeError

    return DecodeError


def work(kind: str, count: int, seed: int, keep: str) -> int:
    """Reads that many changed files; returns how many went wrong, and keeps those."""
    import logging
    import warnings

    import headrace as tf

    faulthandler.enable()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    make, _, mend = KINDS[kind]
    for name in KINDS if kind.startswith("checkpoint") else (kind,):
        if name == kind or name.startswith("checkpoint"):
            VALID[name] = KINDS[name][0]()
    tf.Graph()
    lower_limits()
    (used,) = re.findall(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())
    resource.setrlimit(resource.RLIMIT_AS, ((int(used) << 10) + CEILING,) * 2)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        said = attempt(kind, VALID[kind], folder)  # also has all that is imported late imported
        assert not said or said.startswith("took"), f"a valid {kind} file: {said}"
        for number in range(count):
            draw = random.Random(f"{kind} {seed} {number}")
            data = changed(draw, VALID[kind])
            if mend is not None and draw.random() < 0.8:
                data = mend(data)
            Path(keep).write_bytes(data)  # if this process dies, it is there
            signal.alarm(PATIENCE_S)
            said = attempt(kind, data, folder)
            signal.alarm(0)
            if said:
                wrong += 1
                print(f"{kind}, seed {seed}, file {number}: {said}", flush=True)
                Path(f"{keep}.{number}").write_bytes(data)
    Path(keep).unlink()
    return wrong


def main(argv=None) -> int:
    """Has a process for each kind read changed files; returns how many kinds had a fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=1000, help="of each kind (default: %(default)s)")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--keep", default=tempfile.gettempdir(), help="where files are kept that went wrong")
    options = parser.parse_args(argv)
    if options.work:
        return min(work(options.kind[0], options.files, options.seed, options.keep), 100)
    folder = tempfile.mkdtemp(prefix="hostile_", dir=options.keep)

    def run(kind):
        command = [sys.executable, "-m", "benchmarks._hostile_files", "--work", "--kind", kind, "--files", str(options.files),
                   "--seed", str(options.seed), "--keep", f"{folder}/{kind.replace(' ', '_')}"]  # fmt: skip
        return kind, subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])

    faults = 0
    with ThreadPoolExecutor(max(len(os.sched_getaffinity(0)) // 2, 1)) as pool:
        for kind, ended in pool.map(run, options.kind or KINDS):
            faults += ended.returncode != 0
            state = "as it should" if not ended.returncode else f"code {ended.returncode}"
            print(f"{kind}: {options.files} files, ended {state}\n{ended.stdout}", end="", flush=True)
            if ended.returncode and not ended.stdout:
                print(ended.stderr[-3000:])
    if not faults:
        os.rmdir(folder)
    else:
        print(f"the files are in {folder}")
    return faults


if __name__ == "__main__":
    sys.exit(main())
