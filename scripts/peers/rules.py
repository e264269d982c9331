# peers: node python scorer
"""Each rule of positions that a GGUF file of architecture llama can hold, on a tiny random model, against llama.cpp.

For every rule a file is written whose keys and tensors say it; llama.cpp scores a document by it with its float32
cache, and so does this project, with angles rounded as ggml rounds them and with exact ones. A rule whose losses hardly
differ from those of the plain model would prove nothing: how far it moves them is a bound too.

The engine here runs llama alone: families.py has the rules of other architectures.
"""

import math
import pathlib
import sys
import tempfile

import gguf
import numpy as np
from comparison import Comparison, arguments, llama_losses, our_losses

BOUND = 1e-3
MOVED = 1e-2  # nats, of the token that a rule moves most
LAYERS, HIDDEN, HEADS, KV_HEADS, FFN, VOCABULARY, CONTEXT = 2, 64, 4, 2, 96, 96, 2048
ORIGINAL = 256
PREFIX = "llama."


def llama3_divisors(pairs: int, base: float, factor=8.0, low=1.0, high=4.0, original=ORIGINAL) -> np.ndarray:
    out = []
    for pair in range(pairs):
        wavelength = 2 * math.pi * base ** (pair / pairs)
        if wavelength < original / high:
            out.append(1.0)
        elif wavelength > original / low:
            out.append(factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            out.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(out, dtype=np.float32)


def yarn(factor=8.0, **more) -> dict:
    return {"rope.scaling.type": "yarn", "rope.scaling.factor": factor,
            "rope.scaling.original_context_length": ORIGINAL, **more}


def rules(pairs: int) -> dict:
    """Name: keys, tensors, options of `losses` where llama.cpp takes something else than the file says."""
    base = 10000.0
    divisors = {"rope_freqs.weight": llama3_divisors(pairs, base)}
    rising = np.linspace(1, 6, pairs, dtype=np.float32)
    lists = {"rope_factors_long.weight": rising, "rope_factors_short.weight": np.sqrt(rising)}
    longrope = {"rope.scaling.type": "longrope", "rope.scaling.attn_factor": 1.2}
    return {
        "plain": ({}, {}, []),
        "freq_base": ({"rope.freq_base": 500.0}, {}, []),
        "linear": ({"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}, {}, []),
        "linear by default": ({"rope.scaling.factor": 4.0}, {}, []),
        "scale_linear": ({"rope.scale_linear": 4.0}, {}, []),
        "scale_linear beside a factor": ({"rope.scaling.factor": 2.0, "rope.scale_linear": 8.0}, {}, []),
        "factor 0": ({"rope.scaling.factor": 0.0}, {}, []),
        "none, with a factor": ({"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, {}, []),
        "none, attn_factor": ({"rope.scaling.type": "none", "rope.scaling.attn_factor": 1.3}, {}, []),
        "linear, attn_factor": ({"rope.scaling.factor": 4.0, "rope.scaling.attn_factor": 1.3}, {}, []),
        "yarn": (yarn(), {}, []),
        "yarn, base 500": (yarn(**{"rope.freq_base": 500.0}), {}, []),
        "yarn, no original length": ({"rope.scaling.type": "yarn", "rope.scaling.factor": 8.0}, {}, []),
        "yarn, attn_factor": (yarn(**{"rope.scaling.attn_factor": 0.8}), {}, []),
        "yarn, betas: llama.cpp's": (yarn(**{"rope.scaling.yarn_beta_fast": 4.0}), {},
                                     ["--scheme", f"yarn,factor=8,original={ORIGINAL}"]),
        "yarn, yarn_attn_factor: llama.cpp's": (yarn(**{"rope.scaling.yarn_attn_factor": 1.5}), {},
                                                ["--scheme", f"yarn,factor=8,original={ORIGINAL}"]),
        "rope_freqs": ({}, divisors, []),
        "rope_freqs, linear": ({"rope.scaling.factor": 4.0}, divisors, []),
        "rope_freqs, yarn": (yarn(), divisors, []),
        "rope_freqs, none, attn_factor": ({"rope.scaling.type": "none", "rope.scaling.attn_factor": 1.3}, divisors, []),
        "rope_freqs, a pair that stands still": ({}, {"rope_freqs.weight": np.array([1, 1, 1e30] + [1] * (pairs - 3),
                                                                                    dtype=np.float32)}, []),
        "longrope, long": ({**longrope, "rope.scaling.original_context_length": ORIGINAL}, lists, []),
        "longrope, short": ({**longrope, "rope.scaling.original_context_length": 1024}, lists, []),
        "longrope, factor": ({**longrope, "rope.scaling.original_context_length": ORIGINAL,
                              "rope.scaling.factor": 2.0}, lists, []),
        "head width of its own": ({"attention.key_length": 24, "attention.value_length": 24}, {}, []),
    }


# What says the same as the plain file.
UNMOVED = {"plain", "factor 0", "none, with a factor"}
COUNTS = {"rope.scaling.original_context_length", "attention.key_length", "attention.value_length"}


def write(path, keys: dict, tensors: dict, seed=1) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    head = keys.get("attention.key_length", HIDDEN // HEADS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(head)
    for key, value in keys.items():
        if isinstance(value, str):
            writer.add_string(PREFIX + key, value)
        elif key in COUNTS:
            writer.add_uint32(PREFIX + key, value)
        else:
            writer.add_float32(PREFIX + key, value)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["<unk>", "<s>", "</s>"] + [f"t{k}" for k in range(3, VOCABULARY)])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([2, 3, 3] + [1] * (VOCABULARY - 3))

    random = np.random.default_rng(seed)

    def matrix(name, rows, columns, size=1.0):
        values = random.standard_normal((rows, columns)) * size / math.sqrt(columns)
        writer.add_tensor(name, values.astype(np.float32))

    for name, values in tensors.items():
        writer.add_tensor(name, values)
    matrix("token_embd.weight", VOCABULARY, HIDDEN, math.sqrt(HIDDEN))
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        writer.add_tensor(block + "attn_norm.weight", np.ones(HIDDEN, dtype=np.float32))
        matrix(block + "attn_q.weight", HEADS * head, HIDDEN, 1.3)
        matrix(block + "attn_k.weight", KV_HEADS * head, HIDDEN, 1.3)
        matrix(block + "attn_v.weight", KV_HEADS * head, HIDDEN)
        matrix(block + "attn_output.weight", HIDDEN, HEADS * head, 2)
        writer.add_tensor(block + "ffn_norm.weight", np.ones(HIDDEN, dtype=np.float32))
        matrix(block + "ffn_gate.weight", FFN, HIDDEN)
        matrix(block + "ffn_up.weight", FFN, HIDDEN)
        matrix(block + "ffn_down.weight", HIDDEN, FFN)
    writer.add_tensor("output_norm.weight", np.ones(HIDDEN, dtype=np.float32))
    matrix("output.weight", VOCABULARY, HIDDEN, 2)

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def farthest(a, b) -> float:
    assert len(a) == len(b)
    return max(abs(x - y) for x, y in zip(a, b))


def main() -> int:
    options = arguments(__doc__, tokens=(768, "how many of a random document"))
    ids = [int(k) for k in np.random.default_rng(2).integers(3, VOCABULARY, options.tokens)]
    table = Comparison(f"Rules of GGUF files on a random model, {len(ids)} tokens, llama.cpp with a float32 cache")
    plain = None
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rule.gguf"
        for name, (keys, tensors, more) in rules(HIDDEN // HEADS // 2).items():
            write(path, keys, tensors)
            peer = llama_losses(path, [ids], "f32", 1)[0]
            plain = plain or peer
            for angles, bound in (("float32", BOUND), ("exact", None)):
                losses = our_losses(path, ids, "--angles", angles, "--threads", options.threads, *more)
                worst = max(range(len(peer)), key=lambda t: abs(losses[t] - peer[t]))
                table.add(f"{name}, {angles} angles, token {worst + 1} is worst", losses[worst], peer[worst],
                          abs(losses[worst] - peer[worst]), bound)
            moved = farthest(peer, plain)
            if name not in UNMOVED:
                table.add(f"{name}, share of the least move", moved, MOVED, MOVED / max(moved, 1e-9), 1)
            else:
                table.add(f"{name}, moved", moved, 0, moved, 0)
    return table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
