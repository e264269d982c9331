#!/usr/bin/env python3
"""Writes a random Llama-shaped model of quantised blocks, of any size, to measure memory and speed on.

Needs the packages gguf and numpy. The defaults are Llama-2-7B's shape: 4 GB as Q4_K.

  random_model.py OUT.gguf --vocabulary VOCABULARY.gguf [--type q4_k|q8_0] [--layers 32 --hidden 4096 ...]

The vocabulary is that of another GGUF file. Every block is valid, and scales are such that a row of weights keeps the size
of what it meets: activations stay finite, and the model knows nothing.
"""

import argparse

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type


def q4_k_blocks(random, count, size):
    """(count, 144). Minima are scales, times 7.5: a block has a mean of about 0, and its values a root mean square of `size`."""
    blocks = random.integers(0, 256, (count, 144), dtype=np.uint8)
    blocks[:, 8:12] = blocks[:, 4:8]
    blocks[:, 12:16] = (blocks[:, 12:16] & 15) * 17
    scale = size / np.sqrt(np.mean(np.arange(64) ** 2.0) * np.mean((np.arange(16) - 7.5) ** 2))
    blocks[:, :4] = np.array([scale, 7.5 * scale], "<f2").view(np.uint8)
    return blocks


def q8_0_blocks(random, count, size):
    """(count, 34)"""
    blocks = random.integers(0, 256, (count, 34), dtype=np.uint8)
    blocks[:, :2] = np.array([size / np.sqrt(np.mean(np.arange(-128, 128) ** 2.0))], "<f2").view(np.uint8)
    return blocks


TYPES = {"q4_k": (Type.Q4_K, q4_k_blocks), "q8_0": (Type.Q8_0, q8_0_blocks)}


def matrices(options):
    """Name, outputs and inputs of each."""
    head_dim = options.hidden // options.heads
    kv = options.kv_heads * head_dim
    yield "token_embd", options.vocabulary_size, options.hidden
    for n in range(options.layers):
        for part, outputs, inputs in (
            ("attn_q", options.hidden, options.hidden),
            ("attn_k", kv, options.hidden),
            ("attn_v", kv, options.hidden),
            ("attn_output", options.hidden, options.hidden),
            ("ffn_gate", options.ffn, options.hidden),
            ("ffn_up", options.ffn, options.hidden),
            ("ffn_down", options.hidden, options.ffn),
        ):
            yield f"blk.{n}.{part}", outputs, inputs
    yield "output", options.vocabulary_size, options.hidden


def norms(options):
    for n in range(options.layers):
        yield f"blk.{n}.attn_norm"
        yield f"blk.{n}.ffn_norm"
    yield "output_norm"


def add_keys(writer, options, vocabulary):
    writer.add_context_length(options.context)
    writer.add_block_count(options.layers)
    writer.add_embedding_length(options.hidden)
    writer.add_feed_forward_length(options.ffn)
    writer.add_head_count(options.heads)
    writer.add_head_count_kv(options.kv_heads)
    writer.add_rope_dimension_count(options.hidden // options.heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(options.vocabulary_size)
    for name, field in vocabulary.fields.items():
        if name.startswith("tokenizer."):
            writer.add_key_value(name, field.contents(), field.types[0], field.types[1] if len(field.types) > 1 else None)


def write(options):
    vocabulary = gguf.GGUFReader(options.vocabulary)
    options.vocabulary_size = len(vocabulary.fields["tokenizer.ggml.tokens"].data)
    kind, make_blocks = TYPES[options.type]
    elements, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    writer = gguf.GGUFWriter(options.out, "llama")
    add_keys(writer, options, vocabulary)
    for name, outputs, inputs in matrices(options):
        if inputs % elements != 0:
            raise SystemExit(f"{name}: rows of {inputs} are no whole blocks of {elements}")
        row = inputs // elements * block_bytes
        writer.add_tensor_info(f"{name}.weight", (outputs, row), np.dtype(np.uint8), outputs * row, kind)
    for name in norms(options):
        writer.add_tensor_info(f"{name}.weight", (options.hidden,), np.dtype(np.float32), 4 * options.hidden)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    random = np.random.default_rng(options.seed)
    for _, outputs, inputs in matrices(options):
        writer.write_tensor_data(make_blocks(random, outputs * inputs // elements, inputs**-0.5))
    for _ in norms(options):
        writer.write_tensor_data(np.ones(options.hidden, np.float32))
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--vocabulary", required=True, help="a GGUF file with a tokenizer; weights are not needed")
    parser.add_argument("--type", choices=TYPES, default="q4_k")
    for name, default in dict(layers=32, hidden=4096, ffn=11008, heads=32, kv_heads=32, context=4096, seed=1).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    write(parser.parse_args())


if __name__ == "__main__":
    main()
