"""A GGUF file with every tensor widened to float32, so that an engine multiplies without rounding activations to fit
a block format: widen_gguf.py IN.gguf OUT.gguf. Keys are copied byte for byte."""

import struct
import sys

import gguf
import numpy as np

F32 = 0


def aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def main(source: str, target: str) -> None:
    reader = gguf.GGUFReader(source)
    keys_end = min(tensor.field.offset for tensor in reader.tensors)
    infos = bytearray()
    offset = 0
    for tensor in reader.tensors:
        name = tensor.name.encode()
        shape = [int(n) for n in tensor.shape]
        infos += struct.pack("<Q", len(name)) + name
        infos += struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, F32, offset)
        offset += aligned(4 * int(tensor.n_elements), reader.alignment)
    with open(target, "wb") as out:
        out.write(bytes(reader.data[:keys_end]) + infos)
        for tensor in reader.tensors:
            out.write(bytes(aligned(out.tell(), reader.alignment) - out.tell()))
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            out.write(np.ascontiguousarray(values, dtype="<f4").tobytes())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
