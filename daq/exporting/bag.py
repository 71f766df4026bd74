"""A recording as a bag of ROS 2: JointState and WrenchStamped, without anything of Heft's own."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from heft.daq.errors import ConfigError
from heft.daq.record.layout import standard_topic
from heft.daq.record.standard import standard
from heft.daq.recording import Recording
from heft.drivers.stream import Stream

__all__ = ["export_bag"]

#: Version of metadata.yaml: what ROS 2 Iron and later read.
VERSION: Literal[8] = 8


def export_bag(recording: Recording, into: Path, streams: Sequence[Stream], *, replace: bool = False) -> Path:
    """Write a folder with metadata.yaml and a file, .mcap; stamps are UTC, topics those that viewers see."""
    if into.exists() and not replace:
        raise ConfigError(f"{into}: is there already; choose another name, or say --overwrite")
    draft = into.with_name(f".{into.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    store = get_typestore(Stores.ROS2_HUMBLE)
    try:
        with Writer(draft, version=VERSION, storage_plugin=StoragePlugin.MCAP) as writer:
            for stream in streams:
                messages = standard(stream)
                topic = writer.add_connection(standard_topic(stream.name), messages.schema, typestore=store)
                for block in recording.blocks(stream.name):
                    utc_ns = block.host_ns + recording.utc_offset_ns
                    for at, row in zip(utc_ns.tolist(), messages.pack(utc_ns, block.si), strict=True):
                        writer.write(topic, at, row.tobytes())
        written = next(one for one in draft.iterdir() if one.suffix == ".mcap")
        text = (draft / "metadata.yaml").read_text(encoding="utf-8")
        name = f"{into.name}_0.mcap"
        written.rename(draft / name)
        (draft / "metadata.yaml").write_text(text.replace(written.name, name), encoding="utf-8")
        if into.exists():
            shutil.rmtree(into)
        draft.rename(into)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return into
