#!/usr/bin/env python3
"""Checks the bundled model against PyTorch, and measures it past its length under a few schemes.

Needs the packages torch, tokenizers, gguf and numpy, Debian's bible-kjv, and the built command.

  check_model.py                   token ids and losses: the command's beside those of tokenizers and PyTorch
  check_model.py --table           mean loss and copy gain at 4096 tokens of held-out text, by scheme
  check_model.py --f32 OUT.gguf    a copy with the same values in float32, for engines that compute bf16 otherwise
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

import kjv_text
from export_model import BOS, NAME, export
from small_llama import Shape, SmallLlama

ROOT = pathlib.Path(__file__).parent.parent
LENGTH = 4096
WINDOWS = 4        # of LENGTH tokens, over all held-out books
PASSAGE = 64       # tokens of the copy test
PLACES = 8         # where it is made
DISTANCES = (128, 512, 2048, 3840)
SCHEMES = ("declared", "window,size=256", "sinks,count=4,size=252", "linear,factor=16", "ntk,factor=16", "yarn,factor=16",
           "yarn,factor=16,ramp=turns", "ntk_by_parts,factor=16", "ntk_mixed,factor=16", "dynamic_ntk",
           "cap,window=128", "cap,window=179", "cap,window=179+logn", "leaky,window=128,divisor=32",
           "log_tail,window=64,bound=179,at=4096", "self_extend,window=64,group=32", "full_turn")


def load(path):
    """Returns the model and the tokenizer of a GGUF file, read by the gguf package alone."""
    reader = gguf.GGUFReader(path)

    def value(key):
        return reader.fields[key].contents()

    shape = Shape(
        vocabulary=value("llama.vocab_size"), dim=value("llama.embedding_length"), layers=value("llama.block_count"),
        heads=value("llama.attention.head_count"), kv_heads=value("llama.attention.head_count_kv"),
        head_dim=value("llama.attention.key_length"), ffn=value("llama.feed_forward_length"),
        context=value("llama.context_length"), rope_base=value("llama.rope.freq_base"),
        norm_epsilon=value("llama.attention.layer_norm_rms_epsilon"))
    state = {}
    for tensor in reader.tensors:
        dimensions = tuple(int(n) for n in reversed(tensor.shape))
        data = np.array(tensor.data)  # bf16 comes as bytes
        if tensor.tensor_type == gguf.GGMLQuantizationType.BF16:
            data = (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        state[tensor.name] = torch.from_numpy(data.reshape(dimensions).copy())
    model = SmallLlama(shape)
    model.load_state_dict(state)

    vocabulary = {token: id for id, token in enumerate(value("tokenizer.ggml.tokens"))}
    merges = [tuple(merge.split(" ")) for merge in value("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    return model, tokenizer


class Command:
    def __init__(self, program, model):
        self.call = [program, "losses", model, "--json"]

    def run(self, *arguments, text=None):
        run = subprocess.run([*map(str, self.call), *arguments], input=text, capture_output=True, encoding="utf-8")
        if run.returncode:
            sys.exit(run.stderr.strip())
        return json.loads(run.stdout)

    def losses(self, ids, scheme):
        """(tokens - 1) losses of (tokens) ids."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump([int(i) for i in ids], file)
            file.flush()
            return np.array(self.run("--ids", file.name, "--scheme", scheme)["losses"])


def compare(command, model, tokenizer, books):
    for book, text in books.items():
        ids = [BOS] + tokenizer.encode(text).ids
        told = command.run("--text", "-", "--scheme", "window,size=64", text=text)["tokens"]
        print(f"{book}: {len(ids)} ids; the command's are {'the same' if told == ids else 'OTHERS'}")
        worst = 0.0
        for start in range(0, 16 * 256, 256):
            window = [BOS] + ids[1 + start:256 + start]
            with torch.no_grad():
                expected = model.losses(torch.tensor([window]))[0].numpy()
            worst = max(worst, np.abs(command.losses(window, "declared") - expected).max())
        with torch.no_grad():
            expected = model.losses(torch.tensor([ids[:1024]]))[0].numpy()
        far = np.abs(command.losses(ids[:1024], "declared") - expected).max()
        print(f"{book}: losses differ from PyTorch's by at most {worst:.2e} in 16 windows of 256 tokens, {far:.2e} at 1024")


def copies(ids, distance, repeats):
    """Texts of LENGTH tokens whose last PASSAGE stood `distance` tokens earlier, from as many places."""
    for i in range(repeats):
        begin = (i * 7919) % (len(ids) - LENGTH)
        text = ids[begin:begin + LENGTH - 1 - PASSAGE]
        first = len(text) - distance
        yield [BOS, *text, *text[first:first + PASSAGE]], first


def table(command, tokenizer, books):
    documents = [tokenizer.encode(text).ids for text in books.values()]
    windows = [[BOS, *ids[i * (LENGTH - 1):(i + 1) * (LENGTH - 1)]] for i in range(WINDOWS // len(documents))
               for ids in documents]
    buckets = ((0, 256), (256, 1024), (1024, LENGTH - 1))
    print(f"{WINDOWS} windows of {LENGTH} tokens, a BOS first in each; copy: nats per token that a passage of {PASSAGE}")
    print("tokens is cheaper when it comes again, the text ending there")
    print(f"{'scheme':40}" + "".join(f"{f'{b}-{e}':>11}" for b, e in buckets) +
          "".join(f"{f'copy {d}':>11}" for d in DISTANCES))
    for scheme in SCHEMES:
        losses = np.stack([command.losses(window, scheme) for window in windows])
        cells = [losses[:, b:e].mean() for b, e in buckets]
        for distance in DISTANCES:
            gains = []
            for text, first in copies(np.concatenate(documents), distance, PLACES):
                found = command.losses(text, scheme)
                gains.append(found[first:first + PASSAGE].mean() - found[-PASSAGE:].mean())
            cells.append(np.mean(gains))
        print(f"{scheme:40}" + "".join(f"{cell:11.3f}" for cell in cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "models" / f"{NAME}.gguf")
    parser.add_argument("--command", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "ropewalk")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--f32", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model, tokenizer = load(arguments.model)
    if arguments.f32:
        export(model, tokenizer, arguments.f32, gguf.GGMLQuantizationType.F32)
        return
    read = kjv_text.read_books()
    books = {book: read[book] for book in kjv_text.HELD_OUT}
    command = Command(arguments.command, arguments.model)
    (table if arguments.table else compare)(command, *([] if arguments.table else [model]), tokenizer, books)


if __name__ == "__main__":
    main()
