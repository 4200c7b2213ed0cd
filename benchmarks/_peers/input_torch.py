"""The same input by torch's DataLoader, as its users write it: plain Python for each element, a function that collates."""

import csv
import functools
import glob
import random
import struct

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from benchmarks._peers import input_files

BUCKETS = [10, 20, 30]


class Shuffled(IterableDataset):
    """Elements of a stream through a buffer; a worker takes every so-manieth."""

    def __init__(self, stream, convert, room=1000):
        self._stream, self._convert, self._room = stream, convert, room

    def __iter__(self):
        draw = random.Random(1)
        buffer = []
        for element in self._own():
            if len(buffer) < self._room:
                buffer.append(self._convert(element))
                continue
            i = draw.randrange(self._room)
            buffer[i], element = self._convert(element), buffer[i]
            yield element
        draw.shuffle(buffer)
        yield from buffer

    def _own(self):
        info = get_worker_info()
        stream = self._stream()
        return stream if info is None else (e for i, e in enumerate(stream) if i % info.num_workers == info.id)


def records(folder, workers):
    """TFRecords: the framing by hand, with its two checksums as in the other libraries, the message by protobuf."""
    stream = functools.partial(_record_stream, sorted(glob.glob(f"{folder}/*.tfrecord")))
    return loader(Shuffled(stream, _parse), workers, 64)


def _record_stream(names):
    for name in names:
        with open(name, "rb") as file:
            while head := file.read(12):
                length, checksum = struct.unpack("<QI", head)
                _check(head[:8], checksum)
                record = file.read(length)
                _check(record, *struct.unpack("<I", file.read(4)))
                yield record


def _check(data, checksum):
    import google_crc32c

    value = google_crc32c.value(data)
    if ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF != checksum:
        raise ValueError("a record is damaged")


def _parse(record):
    feature = _example().FromString(record).features.feature
    return (
        np.array(feature["x"].float_list.value, np.float32),
        feature["label"].int64_list.value[0],
        feature["name"].bytes_list.value[0],
    )


@functools.cache
def _example():
    """Protobuf's class for TensorFlow's `Example`."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="peer", syntax="proto3")

    def message(name, *fields):
        made = file.message_type.add(name=name)
        for number, (field, kind, repeated) in enumerate(fields, 1):
            one = made.field.add(name=field, number=number, label=3 if repeated else 1)
            one.type = 11 if isinstance(kind, str) else kind
            if isinstance(kind, str):
                one.type_name = f".peer.{kind}"
        return made

    message("BytesList", ("value", 12, True))
    message("FloatList", ("value", 2, True))
    message("Int64List", ("value", 3, True))
    lists = [("bytes_list", "BytesList", False), ("float_list", "FloatList", False), ("int64_list", "Int64List", False)]
    message("Feature", *lists)
    features = message("Features", ("feature", "Features.FeatureEntry", True))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=9)
    entry.field.add(name="value", number=2, label=1, type=11, type_name=".peer.Feature")
    message("Example", ("features", "Features", False))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("peer.Example"))


class Files(Dataset):
    """JPEG files, decoded by Pillow, cropped at random."""

    def __init__(self, names):
        self._names = names

    def __len__(self):
        return len(self._names)

    def __getitem__(self, i):
        from PIL import Image

        with Image.open(self._names[i]) as file:
            size = input_files.CROP
            x, y = random.randint(0, file.width - size), random.randint(0, file.height - size)
            image = np.asarray(file.convert("RGB").crop((x, y, x + size, y + size)))
        return torch.from_numpy(image).to(torch.float32).div_(255.0)


def images(folder, workers):
    return loader(Files(sorted(glob.glob(f"{folder}/*.jpg"))), workers, 32, shuffle=True)


def table(folder, workers):
    return loader(Shuffled(functools.partial(_rows, f"{folder}/table.csv"), _row), workers, 64)


def _rows(name):
    with open(name, newline="") as file:
        yield from csv.reader(file)


def _row(columns):
    return torch.tensor([float(c) for c in columns[:-1]]), columns[-1]


def text(folder, workers):
    with open(f"{folder}/words.txt") as file:
        words = {line.rstrip("\n"): i for i, line in enumerate(file)}
    look_up = functools.partial(_indices, words)
    source = Shuffled(functools.partial(_lines, f"{folder}/lines.txt"), look_up)
    return loader(Bucketed(source), workers, None)


def _lines(name):
    with open(name) as file:
        yield from file


def _indices(words, line):
    return torch.tensor([words.get(word, input_files.WORDS) for word in line.split()])


class Bucketed(IterableDataset):
    """Padded batches of sequences of about the same length."""

    def __init__(self, source):
        self._source = source

    def __iter__(self):
        buckets = [[] for _ in range(len(BUCKETS) + 1)]
        for sequence in self._source:
            bucket = buckets[sum(len(sequence) >= edge for edge in BUCKETS)]
            bucket.append(sequence)
            if len(bucket) == 32:
                yield torch.nn.utils.rnn.pad_sequence(bucket, batch_first=True)
                bucket.clear()
        for bucket in filter(None, buckets):
            yield torch.nn.utils.rnn.pad_sequence(bucket, batch_first=True)


class Generated(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        for i, element in enumerate(input_files.generated()):
            if info is None or i % info.num_workers == info.id:
                yield element


def generator(folder, workers):
    return loader(Generated(), workers, 64)


class Arrays(Dataset):
    def __init__(self):
        self._images, self._labels = map(torch.from_numpy, input_files.arrays())

    def __len__(self):
        return len(self._images)

    def __getitem__(self, i):
        return self._images[i].to(torch.float32).div_(255.0), self._labels[i]


def arrays(folder, workers):
    return loader(Arrays(), workers, 64, shuffle=True)


def loader(dataset, workers, batch, **settings):
    return DataLoader(dataset, batch, num_workers=workers, persistent_workers=workers > 0, **settings)


CASES = {f.__name__: f for f in (records, images, table, text, generator, arrays)}


class Epoch:
    """One way through the data; a call takes all batches, and multiplies ``work`` matrices after each."""

    def __init__(self, make, folder, workers, work=0):
        self._loader, self._work = make(folder, workers), work

    def __call__(self):
        for _ in self._loader:
            products(self._work)


class Work:
    """The steps of an epoch without their input."""

    def __init__(self, work, steps):
        self._work, self._steps = work, steps

    def __call__(self):
        for _ in range(self._steps):
            products(self._work)


def products(work):
    """Multiplies so many matrices."""
    value = torch.full((256, 256), 1 / 256)
    for _ in range(work):
        value = value @ value
