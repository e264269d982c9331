#!/usr/bin/env python3
"""Writes tests/fixtures/: small model files, and the values that a reader must find in them.

Needs the packages gguf, safetensors, numpy and torch (to store bfloat16). The same packages give the
same bytes, so a diff in git shows what changed.

  types.gguf, types_v2.gguf   one tensor of each type Ropewalk decodes, one value of each metadata type
  types.f32                   all values of their tensors, in file order, as decoded by the gguf package
  tiny_llama.gguf             a random Llama with grouped queries and a byte-level SPM vocabulary
  tiny_llama_hf/              the same model as Hugging Face stores it: q and k rows half-split
  tiny_llama_sharded/         the same again in two shards
  tiny_llama_expected.json    a token sequence and its losses, computed here in double precision

and to fuzz/corpus/ the files that the fuzzers of these formats start from.
"""

import argparse
import json
import pathlib
import struct

import gguf
import numpy as np
import safetensors.numpy
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.torch import save_file

SEED = 20240521

# Tiny Llama. Every width differs from every other where the architecture lets it, so that a swapped
# pair of dimensions shows.
DIM, LAYERS, HEADS, KV_HEADS, HEAD_DIM, FF, CONTEXT = 32, 2, 4, 2, 8, 24, 128
THETA, EPSILON = 10000.0, 1e-5
PIECES = ["\u2581", "e", "t", "a", "o", "h", "n", "i", "s", "\u2581t", "he", "\u2581the", "\u2581a"]
VOCABULARY = 3 + 256 + len(PIECES)


def random_blocks(rng, quant_type, rows, columns):
    """Every bit pattern of the quants; scales and minima finite and of both signs."""
    elements, size = gguf.GGML_QUANT_SIZES[quant_type]
    blocks = rng.integers(0, 256, (rows * columns // elements, size), dtype=np.uint8)
    halves = {Type.Q4_1: [0, 2], Type.Q5_1: [0, 2], Type.Q6_K: [208]}.get(quant_type, [0])
    for offset in halves:
        values = rng.normal(0, 0.05, len(blocks)).astype(np.float16)
        values[-1] = np.float16(3e-7)  # subnormal
        blocks[:, offset : offset + 2] = values.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(rows, columns // elements * size)


def write_types(directory):
    rng = np.random.default_rng(SEED)
    writer = gguf.GGUFWriter(directory / "types.gguf", "test")
    writer.add_uint8("value.u8", 200)
    writer.add_int8("value.i8", -100)
    writer.add_uint16("value.u16", 60000)
    writer.add_int16("value.i16", -30000)
    writer.add_uint32("value.u32", 4000000000)
    writer.add_int32("value.i32", -2000000000)
    writer.add_float32("value.f32", 0.1)
    writer.add_bool("value.bool", True)
    writer.add_string("value.string", "ropewalk \u2581")
    writer.add_uint64("value.u64", 2**64 - 1)
    writer.add_int64("value.i64", -(2**63))
    writer.add_float64("value.f64", 0.1)
    writer.add_array("array.i32", [3, -1, 4])
    writer.add_array("array.f32", [0.5, -0.25])
    writer.add_array("array.bool", [True, False, True])
    writer.add_array("array.string", ["a", "", "\u2581b"])

    plain = rng.normal(0, 1, (3, 64)).astype(np.float32)
    plain[0, :6] = [0.0, -0.0, np.inf, -np.inf, 1e-39, 65504.0]
    halves = plain.astype(np.float16)
    halves[1, :2] = np.array([6e-8, -6e-5], np.float16)  # subnormals
    stored = {
        "f32": (plain, None),
        "f16": (halves, None),
        "bf16": (gguf.quantize(plain, Type.BF16), Type.BF16),
    }
    for quant_type in (Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q6_K):
        columns = 512 if quant_type == Type.Q6_K else 64
        blocks = random_blocks(rng, quant_type, 3, columns)
        stored[quant_type.name.lower()] = (blocks, quant_type)

    expected = []
    for name, (data, quant_type) in stored.items():
        writer.add_tensor(name, data, raw_dtype=quant_type)
        values = data.astype(np.float32) if quant_type is None else gguf.dequantize(data, quant_type)
        expected.append(values.astype(np.float32).ravel())
    write(writer)
    np.concatenate(expected).tofile(directory / "types.f32")

    older = bytearray((directory / "types.gguf").read_bytes())
    older[4:8] = (2).to_bytes(4, "little")  # the layouts of versions 2 and 3 are the same
    (directory / "types_v2.gguf").write_bytes(older)


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def random_llama():
    """Hugging Face names and row order, values that bfloat16 holds exactly."""
    rng = np.random.default_rng(SEED + 1)

    def normal(*shape, scale):
        return torch.from_numpy(rng.normal(0, scale, shape)).to(torch.bfloat16)

    def gain():
        return torch.from_numpy(rng.uniform(0.5, 1.5, DIM)).to(torch.bfloat16)

    weights = {"model.embed_tokens.weight": normal(VOCABULARY, DIM, scale=0.5)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        attention, mlp = prefix + "self_attn.", prefix + "mlp."
        weights[prefix + "input_layernorm.weight"] = gain()
        # Large enough for scores that depend visibly on position.
        weights[attention + "q_proj.weight"] = normal(HEADS * HEAD_DIM, DIM, scale=0.3)
        weights[attention + "k_proj.weight"] = normal(KV_HEADS * HEAD_DIM, DIM, scale=0.3)
        weights[attention + "v_proj.weight"] = normal(KV_HEADS * HEAD_DIM, DIM, scale=0.2)
        weights[attention + "o_proj.weight"] = normal(DIM, HEADS * HEAD_DIM, scale=0.2)
        weights[prefix + "post_attention_layernorm.weight"] = gain()
        weights[mlp + "gate_proj.weight"] = normal(FF, DIM, scale=0.2)
        weights[mlp + "up_proj.weight"] = normal(FF, DIM, scale=0.2)
        weights[mlp + "down_proj.weight"] = normal(DIM, FF, scale=0.2)
    weights["model.norm.weight"] = gain()
    return weights


def interleaved_rows(weight, heads):
    """Half-split rows 0 1 2 3 4 5 6 7 of each head become 0 4 1 5 2 6 3 7, as llama.cpp expects."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_llama_gguf(directory, weights):
    writer = gguf.GGUFWriter(directory / "tiny_llama.gguf", "llama")
    writer.add_name("tiny random llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(DIM)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FF)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_rope_freq_base(THETA)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("llama")
    byte_tokens = [f"<0x{value:02X}>" for value in range(256)]
    writer.add_token_list(["<unk>", "<s>", "</s>", *byte_tokens, *PIECES])
    # Longer pieces merge first: -1 for the last and longest of PIECES.
    writer.add_token_scores([0.0] * 259 + [float(i - len(PIECES)) for i in range(len(PIECES))])
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * len(PIECES))
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)

    names = {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    heads = {"self_attn.q_proj": HEADS, "self_attn.k_proj": KV_HEADS}

    def add(name, weight):
        writer.add_tensor(name, np.ascontiguousarray(weight))

    stored = {name: weight.to(torch.float32).numpy() for name, weight in weights.items()}
    add("token_embd.weight", stored["model.embed_tokens.weight"])
    for layer in range(LAYERS):
        for theirs, ours in names.items():
            weight = stored[f"model.layers.{layer}.{theirs}.weight"]
            if theirs in heads:
                weight = interleaved_rows(weight, heads[theirs])
            add(f"blk.{layer}.{ours}.weight", weight)
    add("output_norm.weight", stored["model.norm.weight"])
    write(writer)


def write_llama_hf(directory, weights):
    config = {
        "architectures": ["LlamaForCausalLM"],
        "bos_token_id": 1,
        "eos_token_id": 2,
        "head_dim": HEAD_DIM,
        "hidden_act": "silu",
        "hidden_size": DIM,
        "intermediate_size": FF,
        "max_position_embeddings": CONTEXT,
        "model_type": "llama",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": KV_HEADS,
        "rms_norm_eps": EPSILON,
        "rope_scaling": None,
        "rope_theta": THETA,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "vocab_size": VOCABULARY,
    }
    single, sharded = directory / "tiny_llama_hf", directory / "tiny_llama_sharded"
    for folder in (single, sharded):
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file(weights, single / "model.safetensors", metadata={"format": "pt"})

    weight_map = {}
    for number in range(2):
        shard = f"model-{number + 1:05}-of-00002.safetensors"
        part = {n: w for n, w in weights.items() if (".layers.1." in n) == (number == 1)}
        save_file(part, sharded / shard, metadata={"format": "pt"})
        weight_map.update(dict.fromkeys(part, shard))
    size = sum(w.numel() * w.element_size() for w in weights.values())
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (sharded / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


def losses(weights, tokens):
    """-log p(tokens[i + 1] | tokens[..i]) by the half-split reading, in double precision."""
    w = {name: weight.to(torch.float64).numpy() for name, weight in weights.items()}
    count = len(tokens)
    inv_freq = THETA ** (-np.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    angles = np.arange(count)[:, None] * inv_freq
    cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]

    def norm(x, gain):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * gain

    def rotate(x):
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)

    x = w["model.embed_tokens.weight"][tokens]
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        h = norm(x, w[prefix + "input_layernorm.weight"])
        q = rotate((h @ w[prefix + "self_attn.q_proj.weight"].T).reshape(count, HEADS, HEAD_DIM))
        k = rotate((h @ w[prefix + "self_attn.k_proj.weight"].T).reshape(count, KV_HEADS, HEAD_DIM))
        v = (h @ w[prefix + "self_attn.v_proj.weight"].T).reshape(count, KV_HEADS, HEAD_DIM)
        k, v = (np.repeat(t, HEADS // KV_HEADS, axis=1) for t in (k, v))
        scores = np.einsum("ihc,jhc->hij", q, k) / np.sqrt(HEAD_DIM)
        scores[:, np.triu(np.ones((count, count), bool), 1)] = -np.inf
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        mixed = np.einsum("hij,jhc->ihc", p, v).reshape(count, HEADS * HEAD_DIM)
        x = x + mixed @ w[prefix + "self_attn.o_proj.weight"].T
        h = norm(x, w[prefix + "post_attention_layernorm.weight"])
        gate = h @ w[prefix + "mlp.gate_proj.weight"].T
        up = h @ w[prefix + "mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w[prefix + "mlp.down_proj.weight"].T
    logits = norm(x, w["model.norm.weight"]) @ w["model.embed_tokens.weight"].T
    logits -= logits.max(-1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return [-log_p[i, tokens[i + 1]] for i in range(count - 1)]


def write_expected(directory, weights):
    tokens = np.random.default_rng(SEED + 2).integers(3, VOCABULARY, 96)
    tokens[0] = 1
    expected = {"tokens": tokens.tolist(), "losses": losses(weights, tokens)}
    (directory / "tiny_llama_expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def gguf_header(architecture, keys):
    """A GGUF file without tensors: what declares a model's positions."""

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    entries = text("general.architecture") + struct.pack("<I", 8) + text(architecture)
    for key, value in keys.items():
        entries += text(f"{architecture}.{key}")
        if isinstance(value, str):
            entries += struct.pack("<I", 8) + text(value)
        else:
            entries += struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys) + 1) + entries


def write_model_config_seeds(seed):
    sizes = {"block_count": 2, "context_length": 128, "embedding_length": 32, "feed_forward_length": 24,
             "attention.head_count": 4, "attention.head_count_kv": 2, "vocab_size": 272,
             "attention.layer_norm_rms_epsilon": 1e-5}
    yarn = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 32,
            "rope.freq_base": 1e6}
    seed("llama.gguf", gguf_header("llama", {**sizes, "rope.dimension_count": 8}))
    seed("yarn.gguf", gguf_header("qwen2", {**sizes, **yarn}))
    seed("phi3.gguf", gguf_header("phi3", {**sizes, "rope.scaling.attn_factor": 1.19, "attention.sliding_window": 64}))
    config = {"model_type": "llama", "hidden_size": 32, "intermediate_size": 24, "num_attention_heads": 4,
              "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "vocab_size": 272,
              "max_position_embeddings": 128, "rope_theta": 10000.0}
    scalings = {
        "linear": {"type": "linear", "factor": 4.0},
        "dynamic": {"rope_type": "dynamic", "factor": 2.0},
        "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 32},
        "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 32},
        "longrope": {"rope_type": "longrope", "long_factor": [1, 2, 3, 4], "short_factor": [1, 1, 1, 1],
                     "original_max_position_embeddings": 32},
    }
    for name, scaling in scalings.items():
        seed(f"{name}.json", json.dumps({**config, "rope_scaling": scaling}).encode())
    seed("parameters.json", json.dumps({**config, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5},
                                        "layer_types": ["full_attention"] * 2}).encode())


# One string for every part, and some of several.
SCHEMES = """rope linear,factor=4 base,factor=8 ntk,factor=4 ntk_by_parts,factor=8,alpha=1,beta=32 yarn,factor=8,ramp=turns
ntk_mixed,factor=4,power=0.625 llama3,factor=8,low=1,high=4,original=64 longrope,long=1:2:3:4,short=1:1:1:1
dynamic_ntk,factor=2,block=64 dynamic_ntk,block=all stale_dynamic_ntk cap,window=64,pairs=1:2 leaky,window=64,divisor=8
log_tail,window=64 log_tail,window=64,bound=128,at=4096,pieces=8 self_extend,window=64,group=8 curve,points=0:0:64:64:512:96
full_turn,turns=2,mode=freeze window,size=64 sinks,count=4,size=60 logn temperature,factor=1.5
declared cap,window=64+full_turn+sinks,count=2,size=50+logn+yarn,factor=4""".split()


def write_seeds(fixtures, corpus):
    def seed(name, content):
        path = corpus / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    seed("gguf/types.gguf", (fixtures / "types.gguf").read_bytes())
    seed("config_json/config.json", (fixtures / "tiny_llama_hf" / "config.json").read_bytes())
    write_model_config_seeds(lambda name, content: seed("model_config/" + name, content))
    for scheme in SCHEMES:
        seed("scheme_string/" + scheme.translate(str.maketrans(",=:+.", "_____")), scheme.encode())
    tensors = {"a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float16), "c": np.array(3, np.int64)}
    seed("safetensors/small.safetensors", safetensors.numpy.save(tensors, {"format": "pt"}))


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=here.parent, help="of the repository")
    root = parser.parse_args().root
    directory = root / "tests" / "fixtures"
    directory.mkdir(parents=True, exist_ok=True)
    write_types(directory)
    weights = random_llama()
    write_llama_gguf(directory, weights)
    write_llama_hf(directory, weights)
    write_expected(directory, weights)
    write_seeds(directory, root / "fuzz" / "corpus")


if __name__ == "__main__":
    main()
