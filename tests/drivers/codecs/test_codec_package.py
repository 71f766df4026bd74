"""What holds for all codecs: they are pure, they say what they offer, and they withstand the fuzzer."""

import ast
import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import heft.drivers.codecs
from heft.drivers.codecs.checksums import X25
from heft.drivers.codecs.framing import Frames, Framing

ROOT = Path(__file__).parents[3]
MODULES = sorted(
    p.stem for p in Path(heft.drivers.codecs.__file__).parent.glob("*.py") if p.stem != "__init__"
)


def fuzzer():
    spec = importlib.util.spec_from_file_location("fuzz_codecs", ROOT / "benchmarks" / "fuzz_codecs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUZZ = fuzzer()


@pytest.mark.parametrize("name", MODULES)
def test_codec_is_pure(name):
    tree = ast.parse(Path(heft.drivers.codecs.__file__).with_name(f"{name}.py").read_text())
    imported = set()
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Await | ast.AsyncFunctionDef | ast.Assert | ast.Global)
        if isinstance(node, ast.Import):
            imported |= {a.name.split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            root, *rest = node.module.split(".")
            imported.add(".".join([root, *rest[:1]]) if root == "heft" else root)
    allowed = {
        "__future__",
        "collections",
        "dataclasses",
        "enum",
        "functools",
        "math",
        "struct",
        "typing",
        "xml",
    }
    assert imported <= allowed | {"numpy", "heft.drivers"}


@pytest.mark.parametrize("name", MODULES)
def test_codec_says_what_it_offers(name):
    module = importlib.import_module(f"heft.drivers.codecs.{name}")
    assert list(module.__all__) == sorted(
        module.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n)
    )
    assert all(hasattr(module, n) for n in module.__all__)
    assert module.__doc__


@pytest.mark.parametrize("name", sorted(FUZZ.CAMPAIGNS))
def test_withstands_the_fuzzer(name):
    outcome = FUZZ.CAMPAIGNS[name](20_000, 7)
    assert outcome.accepted > 10_000
    assert outcome.refused > 2_000
    assert outcome.overlapped <= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FUZZ.CAMPAIGNS))
def test_withstands_a_million_frames(name):
    outcome = FUZZ.CAMPAIGNS[name](1_000_000, 11)
    assert outcome.overlapped <= 100


class SkipsFrames(Framing):
    """A parser with the known mistake: on a wrong checksum it drops a whole frame's length."""

    def __init__(self):
        super().__init__(header=b"\xaa", length=37, crc=X25, crc_from=1)
        self.rest = b""

    def feed(self, data):
        self.rest += bytes(data)
        rows, ends = [], []
        while len(self.rest) >= 37:
            window, behind = self.rest[:37], self.rest[37:]
            if window[0] != 0xAA:
                self.fed += 1
                self.rest = self.rest[1:]
                continue
            self.fed += 37
            self.rest = behind
            if X25(window[1:-2]) == int.from_bytes(window[-2:], "little"):
                rows.append(list(window))
                ends.append(self.fed)
        return Frames(np.array(rows, np.uint8).reshape(-1, 37), np.array(ends, np.int64))


def test_fuzzer_finds_a_parser_that_skips_whole_frames():
    with pytest.raises(FUZZ.FuzzError, match="was not given out"):
        FUZZ.fuzz_stream(SkipsFrames(), b"\xaa", slice(1, -2), 0x8408, 0xFFFF, bytes, 4000, 1)
