#!/usr/bin/env python3
"""Writes tests/fixtures/blocks.json: what the gguf package decodes pseudo-random blocks to.

Needs the packages gguf and numpy. For each type that Ropewalk decodes:

  block   bytes of the first block of the stream, in hexadecimal
  values  its elements as float32 bit patterns
  blocks  how many blocks the digest goes over
  sha256  of all their values as little-endian float32, every NaN as 0x7fc00000

The stream of a type is splitmix64 started at the type's number in ggml, eight bytes a word, little
endian: scales are any bit pattern, infinities and NaN too.

And fuzz/corpus/gguf/blocks.gguf: the first block of each stream as a tensor of its own.
"""

import argparse
import hashlib
import json
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

BLOCKS = 2048
LARGE_BLOCKS = 512  # of 256 elements
TYPES = """F32 F16 BF16 F64 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4""".split()
PLAIN = {"F32": np.float32, "F16": np.float16, "F64": np.float64}


def stream(seed, size):
    words = (size + 7) // 8
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, words + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return z.astype("<u8").view(np.uint8)[:size]


def decode(name, stored):
    with np.errstate(all="ignore"):
        if name in PLAIN:
            return stored.view(PLAIN[name]).astype(np.float32)
        return gguf.dequantize(stored, Type[name]).astype(np.float32).ravel()


def row(name):
    elements, size = gguf.GGML_QUANT_SIZES[Type[name]]
    blocks = LARGE_BLOCKS if elements == 256 else BLOCKS
    stored = stream(int(Type[name]), blocks * size)
    values = decode(name, stored)
    assert len(values) == blocks * elements
    bits = values.view("<u4").copy()
    bits[np.isnan(values)] = 0x7FC00000
    return {
        "block": stored[:size].tobytes().hex(),
        "values": "".join(f"{b:08x}" for b in bits[:elements]),
        "blocks": blocks,
        "sha256": hashlib.sha256(bits.tobytes()).hexdigest(),
    }


def write_seed(path):
    writer = gguf.GGUFWriter(path, "test")
    for name in TYPES:
        size = gguf.GGML_QUANT_SIZES[Type[name]][1]
        writer.add_tensor(name.lower(), stream(int(Type[name]), size).reshape(1, size), raw_dtype=Type[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=here.parent, help="of the repository")
    root = parser.parse_args().root
    path = root / "tests" / "fixtures" / "blocks.json"
    table = {"maker": "tools/make_block_fixtures.py", "types": {name: row(name) for name in TYPES}}
    path.write_text(json.dumps(table, indent=1) + "\n")
    write_seed(root / "fuzz" / "corpus" / "gguf" / "blocks.gguf")


if __name__ == "__main__":
    main()
