#!/usr/bin/env python3
"""Trains the bundled model, models/ropewalk-kjv-1m.gguf, on the CPU: docs/model.md tells what and why.

Needs the packages torch, tokenizers, gguf and numpy, and Debian's bible-kjv.

  train_model.py               trains, writes the model file and its log; a killed run goes on where it was
  train_model.py --steps 20    a smoke run
  train_model.py --export      writes the model file of the last checkpoint again
"""

import argparse
import importlib.metadata
import math
import pathlib
import platform
import time

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers

import kjv_text
from export_model import NAME, export
from small_llama import Shape, SmallLlama

ROOT = pathlib.Path(__file__).parent.parent
SEED = 20240611
BOS, EOS = 0, 1
SHAPE = Shape()

STEPS = 2000
DRILL_STEPS = 500     # the first steps are drill alone, in short windows
DRILL_CONTEXT = 64
TOKENS = 4096         # in a batch
WARM_UP = 100         # steps
LEARNING_RATE = 4e-3  # AdamW's; the last is a twentieth
MATRIX_RATE = 6e-3    # Muon's, scaled to AdamW's root mean square
WEIGHT_DECAY = 0.1
CLIP = 1.0
WITHOUT_BOS = 1 / 8   # of windows of text: a text may be cut anywhere
DRILL = 0.15          # of windows, once the first steps are over
REPEATING = 0.3       # of windows of text hold a passage twice
PASSAGE = (20, 100)   # tokens, both included
LOG_EVERY, CHECK_EVERY, SAVE_EVERY = 50, 500, 200


def train_tokenizer(text):
    """Byte-level BPE over GPT-2's words: all bytes, and merges up to SHAPE.vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    special = [AddedToken("<s>", special=True), AddedToken("</s>", special=True)]
    trainer = trainers.BpeTrainer(vocab_size=SHAPE.vocabulary, show_progress=False, special_tokens=special,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([text], trainer)
    assert tokenizer.get_vocab_size() == SHAPE.vocabulary and tokenizer.token_to_id("</s>") == EOS
    return tokenizer


class Windows:
    """Windows of text, some with a passage repeated so that copying pays, and drill."""

    def __init__(self, documents):
        """documents: lists of ids; no window reaches across two."""
        self.ids = np.concatenate(documents)
        sizes = np.array([len(ids) for ids in documents])
        first = np.cumsum(sizes) - sizes
        # A window wants context + 1 tokens: the last is only predicted.
        self.starts = np.concatenate([np.arange(f, max(f + n - SHAPE.context, f + 1)) for f, n in zip(first, sizes)])

    def text(self, rng):
        """Returns context + 1 ids."""
        bos = rng.random() >= WITHOUT_BOS
        start = rng.choice(self.starts)
        body = self.ids[start:start + SHAPE.context + 1 - bos]
        if rng.random() < REPEATING:
            size = rng.integers(PASSAGE[0], PASSAGE[1] + 1)
            source = rng.integers(0, len(body) - 2 * size + 1)
            target = rng.integers(source + size, len(body) - size + 1)
            passage = body[source:source + size]
            body = np.concatenate((body[:target], passage, body[target:]))[:len(body)]
        return np.concatenate(([BOS], body)) if bos else body

    @staticmethod
    def drill(rng, context):
        """Returns context + 1 ids: random tokens, an eighth to a half of the window, over and over.

        Nothing but copying predicts them, so the heads that copy emerge long before text alone would have it."""
        period = rng.integers(context // 8, context // 2)
        tokens = rng.permutation(np.arange(EOS + 1, SHAPE.vocabulary))[:period]
        return np.concatenate(([BOS], np.resize(tokens, context)))

    def batch(self, step):
        """The batch of a step depends on nothing but the seed and the step."""
        rng = np.random.default_rng((SEED, step))
        if step < DRILL_STEPS:
            rows = [self.drill(rng, DRILL_CONTEXT) for _ in range(TOKENS // DRILL_CONTEXT)]
        else:
            rows = [self.drill(rng, SHAPE.context) if rng.random() < DRILL else self.text(rng)
                    for _ in range(TOKENS // SHAPE.context)]
        return torch.from_numpy(np.stack(rows).astype(np.int64))


def held_out_loss(model, documents, tokens=256):
    """Mean loss of the documents' windows of `tokens` tokens, a BOS before each, in nats per token."""
    losses = []
    with torch.no_grad():
        for ids in documents:
            body = ids[:len(ids) // (tokens - 1) * (tokens - 1)].reshape(-1, tokens - 1)
            body = np.pad(body, ((0, 0), (1, 0)), constant_values=BOS)
            losses += [model.losses(part) for part in torch.from_numpy(body).split(32)]
    return torch.cat(losses).mean().item()


def copy_gain(model, documents, size=32, distances=(40, 80, 120, 160, 192)):
    """Nats per token that a repeated passage of `size` tokens is cheaper than where it stood first.

    The text is BOS, 24 tokens, the passage, other text, the passage `distance` tokens after the first."""
    gains = {}
    ids = np.concatenate(documents)
    for distance in distances:
        rows = []
        for start in range(0, len(ids) - 256, len(ids) // 64):
            body = ids[start:start + 24 + distance]
            rows.append(np.concatenate(([BOS], body, body[24:24 + size])))
        with torch.no_grad():
            losses = model.losses(torch.from_numpy(np.stack(rows)))  # (rows, 24 + distance + size)
        gains[distance] = (losses[:, 24:24 + size] - losses[:, -size:]).mean().item()
    return gains


def rate(step, steps):
    """The share of the learning rate: a straight rise, then a cosine down to a twentieth."""
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    progress = (step - WARM_UP) / max(1, steps - WARM_UP)
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * progress))


def make_optimizers(model):
    matrices = [p for p in model.blk.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    rest = [{"params": [model.token_embd.weight], "weight_decay": 0.0}, {"params": vectors, "weight_decay": 0.0}]
    return [torch.optim.Muon(matrices, lr=MATRIX_RATE, weight_decay=WEIGHT_DECAY, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(rest, lr=LEARNING_RATE, betas=(0.9, 0.98), eps=1e-10)]


class Log:
    """A file that goes on where a checkpoint was saved."""

    def __init__(self, path, lines):
        self.path, self.lines = path, lines

    def __call__(self, line):
        print(line, flush=True)
        self.lines.append(line)
        self.path.write_text("\n".join(self.lines) + "\n")


def describe(log, arguments, model, documents, held_out):
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "tokenizers", "numpy", "gguf"))
    log(f"script: tools/train_model.py, seed {SEED}, threads {arguments.threads}, weights in f32, products with them in bf16")
    log(f"versions: Python {platform.python_version()}, {versions}")
    log(f"shape: {SHAPE}")
    log(f"parameters: {sum(p.numel() for p in model.parameters())}")
    log(f"books: bible-kjv; held out: {', '.join(f'{b} ({len(ids)} tokens)' for b, ids in held_out.items())}; "
        f"trained on the other {len(documents)} books, {sum(map(len, documents))} tokens")
    log(f"batches: {TOKENS} tokens; the first {DRILL_STEPS} steps are drill in windows of {DRILL_CONTEXT} tokens; then windows "
        f"of {SHAPE.context} tokens, {DRILL:g} of them drill, the others text")
    log(f"text: {1 - WITHOUT_BOS:g} of its windows after a BOS, {REPEATING:g} with a passage of {PASSAGE[0]} to {PASSAGE[1]} "
        f"tokens repeated at any distance; drill: random tokens repeated, the period an eighth to a half of the window")
    log(f"optimizer: Muon on matrices, rate {MATRIX_RATE}, decay {WEIGHT_DECAY}; AdamW (0.9, 0.98) on the embedding "
        f"and norms, rate {LEARNING_RATE}; gradient norm clipped at {CLIP}; warm-up {WARM_UP} steps, then a cosine to "
        f"a twentieth; {arguments.steps} steps")
    log("losses: nats per token; train is the mean since the line before, drill and repeated passages included")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--threads", type=int, default=1, help="the exact weights depend on it")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "model", help="checkpoints go here")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "models")
    parser.add_argument("--export", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)
    for folder in (arguments.work, arguments.out):
        folder.mkdir(parents=True, exist_ok=True)

    books = kjv_text.read_books()
    training = [text for book, text in books.items() if book not in kjv_text.HELD_OUT]
    tokenizer = train_tokenizer("\n".join(training))
    tokenizer.save(str(arguments.work / "tokenizer.json"))
    documents = [np.array(tokenizer.encode(text).ids + [EOS]) for text in training]
    held_out = {book: np.array(tokenizer.encode(books[book]).ids) for book in kjv_text.HELD_OUT}

    model = SmallLlama(SHAPE)
    optimizers = make_optimizers(model)
    windows = Windows(documents)
    checkpoint = arguments.work / "checkpoint.pt"
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        for optimizer, saved in zip(optimizers, state["optimizers"]):
            optimizer.load_state_dict(saved)
        first, seconds = state["step"], state["seconds"]
        log = Log(arguments.out / f"{NAME}.log", state["log"])
    else:
        first, seconds = 0, 0.0
        log = Log(arguments.out / f"{NAME}.log", [])
        describe(log, arguments, model, documents, held_out)
    if arguments.export:
        export(model, tokenizer, arguments.out / f"{NAME}.gguf")
        return

    start, total = time.monotonic() - seconds, 0.0
    for step in range(first, arguments.steps):
        share = rate(step, arguments.steps)
        optimizers[0].param_groups[0]["lr"] = share * MATRIX_RATE
        for group in optimizers[1].param_groups:
            group["lr"] = share * LEARNING_RATE
        with torch.autocast("cpu", torch.bfloat16):
            loss = model.losses(windows.batch(step)).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item()
        done = step + 1
        if done % LOG_EVERY == 0:
            log(f"step {done}: train {total / LOG_EVERY:.4f}")
            total = 0.0
        if done % CHECK_EVERY == 0 or done == arguments.steps:
            gains = copy_gain(model, list(held_out.values()))
            log(f"step {done}: held out {held_out_loss(model, list(held_out.values())):.4f}; copy gain at distance "
                + ", ".join(f"{d}: {g:.3f}" for d, g in gains.items()))
        if done % SAVE_EVERY == 0 or done == arguments.steps:
            part = checkpoint.with_suffix(".part")
            torch.save({"model": model.state_dict(), "optimizers": [o.state_dict() for o in optimizers], "step": done,
                        "seconds": time.monotonic() - start, "log": log.lines}, part)
            part.replace(checkpoint)
            print(f"  {time.monotonic() - start:.0f} s", flush=True)
    if first < arguments.steps:
        log(f"wall time: {(time.monotonic() - start) / 60:.1f} minutes on {platform.machine()}")
    export(model, tokenizer, arguments.out / f"{NAME}.gguf")


if __name__ == "__main__":
    main()
