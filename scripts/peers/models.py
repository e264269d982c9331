# peers: scorer converter
"""The engine, family by family, against transformers and llama.cpp, on tiny random models.

A model is transformers' own class, saved, and made a GGUF file by llama.cpp's converter. Losses of every token are
compared three ways: transformers' forward in float32, llama.cpp with float32 weights and cache, and ours with float32
angles on the GGUF file and on the saved directory. Families and variants that llama.cpp's converter does not know or
loses a part of are compared from the directory alone. Of an encoder it is every coordinate of every token's final state; a
decoder behind an encoder is scored after the same ids, and of a head of masked tokens it is all logits at some places.
Lengths lie below, at and above the original context of the model's scaling.
"""

import dataclasses
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import traceback

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from comparison import arguments, llama_losses, llama_states, our_losses, our_masked_logits, our_states, shown
from families import (DEFAULT, LINEAR, LLAMA3, ORIGINAL, SMALL, VISION, WINDOW, YARN, by_layer, f32, latent, lists, u32)
from family_models import VOCABULARY, converted, final_states, losses, made, masked_logits, some_places

TO_TRANSFORMERS, TO_LLAMA_CPP = 1e-4, 1e-3
LENGTHS = (ORIGINAL - 56, ORIGINAL, 640)


@dataclasses.dataclass
class Case:
    family: str
    kind: str  # transformers' model_type
    config: dict = dataclasses.field(default_factory=dict)
    added: dict = dataclasses.field(default_factory=dict)  # to the configuration that the converter reads
    from_directory: bool = True  # the engine reads this family's directories
    from_gguf: bool = True  # llama.cpp has this family, and so has the engine from its files
    auto: str = "AutoModelForCausalLM"
    edits: dict = dataclasses.field(default_factory=dict)  # of the GGUF file's keys
    attention: str = "eager"  # of transformers
    documents: int = len(LENGTHS)  # the first so many, which are the shorter ones
    tower: dict | None = None  # the vision_config of a kind that wraps a text model
    mxfp4: bool = False  # experts in the directory
    text: str = ""  # that text model's model_type, where the wrapper may have several
    apart: str = ""  # why llama.cpp computes something else: then it is not held to a bound

    def configuration(self):
        config = {**SMALL, **self.config}
        if self.tower is not None:
            text = {**config, "model_type": self.text} if self.text else config
            config = dict(text_config=text, vision_config=self.tower, tie_word_embeddings=config["tie_word_embeddings"])
        return transformers.AutoConfig.for_model(self.kind, **config)

    def answers(self) -> tuple:
        """Numbers for ids: transformers' of the model, llama.cpp's and ours of the file."""
        exactly = "--precision", "f32", "--angles", "float32", "--threads"
        if "MaskedLM" in self.auto:
            return (masked_logits, None,
                    lambda path, ids, threads: our_masked_logits(path, ids, some_places(ids), *exactly, threads))
        if not self.auto.startswith("AutoModelFor"):
            return (final_states, lambda path, ids, threads: llama_states(path, [ids], threads)[0],
                    lambda path, ids, threads: our_states(path, ids, *exactly, threads))
        encoder = (lambda ids: ids[:-1]) if "Seq2Seq" in self.auto else (lambda ids: None)
        return (losses, lambda path, ids, threads: llama_losses(path, [ids], "f32", threads)[0],
                lambda path, ids, threads: our_losses(path, ids, *exactly, threads, encoder_ids=encoder(ids)))


def cases() -> list:
    layered = dict(num_hidden_layers=4, sliding_window=WINDOW)
    gemma = dict(head_dim=16, query_pre_attn_scalar=16, sliding_window=WINDOW, tie_word_embeddings=True)
    experts = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=96, head_dim=16, decoder_sparse_step=1)
    mixture = dict(num_local_experts=4, num_experts_per_tok=2)
    quarter = dict(rope_parameters={**DEFAULT, "partial_rotary_factor": 0.25})
    half = dict(head_dim=16, rope_parameters={**DEFAULT, "partial_rotary_factor": 0.5})
    deepseek = dict(n_shared_experts=1, moe_intermediate_size=48, num_experts_per_tok=2, n_routed_experts=4, n_group=1,
                    topk_group=1, first_k_dense_replace=1, num_key_value_heads=4, kv_lora_rank=32, qk_nope_head_dim=8,
                    qk_rope_head_dim=16, v_head_dim=16, num_hidden_layers=3)
    t5 = dict(d_model=64, d_kv=16, d_ff=96, num_layers=3, num_decoder_layers=2, num_heads=4, decoder_start_token_id=0)
    bert, heads = dict(auto="AutoModel"), dict(num_key_value_heads=4)
    masked = dict(auto="AutoModelForMaskedLM", from_gguf=False)
    nomic = dict(n_positions=8192, max_trained_positions=2048, activation_function="swiglu", causal=False, n_inner=96,
                 qkv_proj_bias=False, mlp_fc1_bias=False, mlp_fc2_bias=False, prenorm=False, rotary_emb_fraction=1.0,
                 rotary_emb_interleaved=False, rotary_emb_scale_base=None)
    pair = dict(auto="AutoModelForSeq2SeqLM")
    gpt2 = dict(n_embd=64, n_head=4, n_layer=2, n_inner=256)
    tower = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2, image_size=28,
                 patch_size=14)
    clip = {**tower, "model_type": "clip_vision_model"}
    scout = {**tower, "intermediate_size": 128, "vision_output_dim": 64, "projector_input_dim": 64,
             "projector_output_dim": 64}
    oss = dict(head_dim=16, sliding_window=WINDOW, **mixture,
               rope_parameters={**YARN, "truncate": True, "beta_fast": 32.0, "beta_slow": 1.0})
    wrapped = dict(auto="AutoModelForImageTextToText", from_gguf=False)
    sections = lambda *widths: dict(rope_parameters={**DEFAULT, "mrope_section": list(widths)})  # noqa: E731
    llama4 = dict(num_hidden_layers=4, head_dim=16, num_local_experts=4, num_experts_per_tok=1, intermediate_size_mlp=96,
                  interleave_moe_layer_step=2, max_position_embeddings=16384)
    return [
        Case("llama", "llama", dict(rope_parameters=DEFAULT)),
        Case("llama, linear", "llama", dict(rope_parameters=LINEAR)),
        Case("llama, yarn", "llama", dict(rope_parameters=YARN)),
        Case("llama 3.1", "llama", dict(rope_parameters=LLAMA3)),
        Case("mistral", "mistral", dict(sliding_window=None)),
        Case("mixtral", "mixtral", mixture),
        Case("qwen2", "qwen2"),
        Case("qwen2, yarn", "qwen2", dict(rope_parameters=YARN)),
        Case("qwen2moe", "qwen2_moe", dict(**experts, shared_expert_intermediate_size=80)),
        Case("qwen3", "qwen3", dict(head_dim=16)),
        Case("qwen3moe", "qwen3_moe", dict(**experts, norm_topk_prob=True)),
        Case("gemma", "gemma", dict(head_dim=16, tie_word_embeddings=True)),
        Case("gemma2", "gemma2", gemma),
        Case("gemma3", "gemma3_text", dict(**gemma, num_hidden_layers=6,
                                           rope_parameters=by_layer({**LINEAR, "rope_theta": 1e6}, DEFAULT))),
        Case("phi2", "phi", dict(partial_rotary_factor=0.5, num_key_value_heads=4, intermediate_size=256)),
        Case("phi3, longrope", "phi3", dict(rope_parameters=lists(8, ORIGINAL),
                                            original_max_position_embeddings=ORIGINAL)),
        Case("phi3, three quarters of a head", "phi3",
             dict(rope_parameters={**lists(6, ORIGINAL), "partial_rotary_factor": 0.75},
                  original_max_position_embeddings=ORIGINAL)),
        Case("gptneox", "gpt_neox", quarter, added={"rotary_pct": 0.25}),
        Case("gptneox, one half after the other", "gpt_neox", dict(**quarter, use_parallel_residual=False),
             added={"rotary_pct": 0.25}),
        Case("gpt2", "gpt2", gpt2, added={"n_ctx": 2048}),
        Case("bloom", "bloom", dict(n_head=4, n_layer=2)),
        Case("mpt", "mpt", dict(d_model=64, n_heads=4, n_layers=2, expansion_ratio=4),
             added={"architectures": ["MPTForCausalLM"]}),
        Case("falcon of 7 B", "falcon", dict(multi_query=True, parallel_attn=True, new_decoder_architecture=False,
                                             num_kv_heads=1, bias=False, ffn_hidden_size=256)),
        Case("falcon of 40 B", "falcon", dict(new_decoder_architecture=True, num_kv_heads=2, bias=False,
                                              ffn_hidden_size=256)),
        Case("stablelm", "stablelm", quarter),
        Case("starcoder2", "starcoder2", dict(sliding_window=None)),
        Case("olmo", "olmo", dict(clip_qkv=0.5)),
        Case("olmo2, yarn", "olmo2", dict(rope_parameters=YARN)),
        Case("olmo3", "olmo3", dict(**layered, rope_parameters=by_layer(YARN, DEFAULT))),
        Case("smollm3", "smollm3", dict(num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0])),
        Case("granite", "granite", dict(embedding_multiplier=3.0, residual_multiplier=0.5, logits_scaling=2.0,
                                        attention_multiplier=0.2)),
        Case("command-r", "cohere", dict(tie_word_embeddings=True, logit_scale=0.5)),
        Case("command-r+", "cohere", dict(tie_word_embeddings=True, use_qk_norm=True, num_hidden_layers=64)),
        Case("cohere2", "cohere2", dict(**layered, tie_word_embeddings=True), added={"rotary_pct": 1.0}),
        Case("glm4", "glm4", half),
        Case("exaone4 of 64 layers, llama3", "exaone4",
             dict(num_hidden_layers=64, sliding_window=WINDOW, sliding_window_pattern=4, rope_parameters=LLAMA3)),
        Case("nemotron", "nemotron", half),
        Case("gpt-oss", "gpt_oss", oss),
        Case("gpt-oss, experts in MXFP4", "gpt_oss", oss, from_gguf=False, mxfp4=True),
        Case("deepseek2 of V2-Lite, yarn", "deepseek_v2",
             dict(**{**deepseek, "num_hidden_layers": 27}, q_lora_rank=None, rope_parameters={**YARN, "mscale": 0.7, "mscale_all_dim": 0.7})),
        Case("deepseek2 of V2", "deepseek_v2", dict(**deepseek, q_lora_rank=32)),
        Case("minicpm3, longrope", "minicpm3", latent(rope_parameters=lists(8, ORIGINAL)),
             # the converter writes neither; the amplitude is that of a length of 8 times the original
             edits={"rope.scaling.original_context_length": u32(ORIGINAL),
                    "rope.scaling.attn_factor": f32(math.sqrt(1 + math.log(8) / math.log(ORIGINAL)))}),
        Case("llama4", "llama4_text", llama4),
        Case("t5 1.0", "t5", dict(**t5, feed_forward_proj="relu", tie_word_embeddings=True), **pair,
             apart="llama.cpp leaves out the factor d_model^-0.5 of tied output matrices"),
        Case("t5, no gate", "t5", dict(**t5, feed_forward_proj="relu"), **pair),
        Case("t5 1.1", "t5", dict(**t5, feed_forward_proj="gated-gelu"), **pair),
        Case("t5, encoder alone", "t5", dict(**t5, feed_forward_proj="gated-gelu"), auto="T5EncoderModel"),
        Case("bert", "bert", heads, **bert),
        Case("roberta", "roberta", heads, **bert),
        Case("roberta, text from row 2 on", "roberta", dict(**heads, pad_token_id=1, bos_token_id=0), **bert),
        Case("xlm-roberta", "xlm-roberta", heads, **bert),
        # the converter leaves the rows before that of position 0 in its table
        Case("camembert", "camembert", heads, from_gguf=False, **bert),
        Case("modern-bert", "modernbert", dict(**heads, num_hidden_layers=7, local_attention=WINDOW),
             added={"layer_norm_eps": 1e-5, "global_attn_every_n_layers": 3}, **bert),
        Case("bert, masked tokens", "bert", heads, **masked),
        Case("bert, masked tokens, tied", "bert", dict(**heads, tie_word_embeddings=True), **masked),
        Case("roberta, masked tokens", "roberta", dict(**heads, pad_token_id=1, bos_token_id=0), **masked),
        Case("modern-bert, masked tokens", "modernbert", dict(**heads, num_hidden_layers=7, local_attention=WINDOW),
             **masked),
        Case("nomic-bert", "nomic_bert", heads, added=nomic, **bert),
        Case("mt5", "mt5", dict(**t5, feed_forward_proj="gated-gelu"), **pair),
        Case("umt5, buckets of each layer", "umt5", dict(**t5, feed_forward_proj="gated-gelu"), **pair),
        # the converter knows no gptj and opt, and loses the norms of each head of StableLM
        Case("gptj", "gptj", dict(**gpt2, rotary_dim=8), from_gguf=False),
        Case("opt", "opt", dict(ffn_dim=256, word_embed_proj_dim=64), from_gguf=False),
        Case("stablelm of 12 B", "stablelm", dict(**quarter, use_parallel_residual=True, qk_layernorm=True,
                                                  use_qkv_bias=True), from_gguf=False),
        Case("falcon, one half after the other, alibi", "falcon",
             dict(multi_query=False, parallel_attn=False, new_decoder_architecture=False, alibi=True, bias=True,
                  num_kv_heads=4, ffn_hidden_size=256), from_gguf=False,
             # eager attention adds the bias twice; the class rounds positions to bfloat16, which holds them up to 256
             attention="sdpa", documents=1),
        Case("granitemoe", "granitemoe", dict(**mixture, embedding_multiplier=3.0, residual_multiplier=0.5,
                                              logits_scaling=2.0, attention_multiplier=0.2), from_gguf=False),
        Case("deepseek2, groups of experts", "deepseek_v2",
             dict(**{**deepseek, "n_routed_experts": 8, "n_group": 4, "topk_group": 2}, q_lora_rank=32,
                  topk_method="group_limited_greedy", routed_scaling_factor=1.5), from_gguf=False),
        Case("phi2 with norms of heads", "phi", dict(partial_rotary_factor=0.5, num_key_value_heads=2,
                                                     intermediate_size=256, qk_layernorm=True), from_gguf=False),
        Case("ministral3, yarn, a temperature", "ministral3",
             dict(head_dim=16, rope_parameters={**YARN, "mscale": 1.0, "mscale_all_dim": 1.0,
                                                "llama_4_scaling_beta": 0.3}), from_gguf=False),
        # text models that another wraps, beside a tower for images
        # transformers 5 leaves out the scale of logits of these two
        Case("aya vision", "aya_vision", dict(**layered, logit_scale=1.0, tie_word_embeddings=True), text="cohere2",
             tower={**tower, "model_type": "siglip_vision_model"}, **wrapped),
        Case("aya vision of 32 B", "aya_vision", dict(logit_scale=1.0, tie_word_embeddings=True), text="cohere",
             tower={**tower, "model_type": "siglip_vision_model"}, **wrapped),
        Case("command a vision", "cohere2_vision", dict(**layered, logit_scale=1.0, tie_word_embeddings=True),
             text="cohere2", tower={**tower, "model_type": "siglip_vision_model"}, **wrapped),
        Case("gemma3 with images", "gemma3",
             dict(**gemma, num_hidden_layers=6, rope_parameters=by_layer({**LINEAR, "rope_theta": 1e6}, DEFAULT)),
             tower=tower, **wrapped),
        Case("llama4 with images", "llama4", llama4, tower=scout, **wrapped),
        Case("mistral 3.1", "mistral3", dict(head_dim=16, sliding_window=None), tower={**tower, "model_type": "pixtral"},
             text="mistral", **wrapped),
        Case("ministral 3, yarn", "mistral3", dict(head_dim=16, rope_parameters={**YARN, "llama_4_scaling_beta": 0.3}),
             tower={**tower, "model_type": "pixtral"}, text="ministral3", **wrapped),
        Case("qwen2-vl", "qwen2_vl", sections(2, 3, 3), tower=VISION, **wrapped),
        Case("qwen2.5-vl", "qwen2_5_vl", sections(2, 3, 3), tower=VISION, **wrapped),
        Case("qwen3-vl", "qwen3_vl", dict(head_dim=16, **sections(4, 2, 2)), tower=VISION, **wrapped),
        Case("qwen3-vl with experts", "qwen3_vl_moe", dict(**experts, **sections(3, 3, 2)), tower=VISION, **wrapped),
        Case("llava 1.5", "llava", dict(rope_parameters=DEFAULT), tower=clip, text="llama", **wrapped),
        Case("llava 1.6", "llava_next", dict(sliding_window=None), tower=clip, text="mistral", **wrapped),
        Case("llava-onevision", "llava_onevision", tower={**tower, "model_type": "siglip_vision_model"}, text="qwen2",
             **wrapped),
        Case("internvl 3", "internvl", dict(rope_parameters=LINEAR), text="qwen2",
             tower={**tower, "image_size": [28, 28], "patch_size": [14, 14]}, **wrapped),
        Case("idefics3", "idefics3", dict(rope_parameters=LLAMA3), tower=tower, text="llama", **wrapped),
        Case("smolvlm", "smolvlm", tower=tower, text="llama", **wrapped),
    ]


class Table:
    """Rows {family, against, worst, mean, bound, holds}."""

    def __init__(self):
        self.rows = []

    def add(self, family: str, against: str, ours: list, theirs: list, bound: float | None,
            note: str = "") -> None:
        apart = np.abs(np.array(ours) - np.array(theirs))
        self.put(family, against, float(apart.max()), float(apart.mean()), bound, note)

    def put(self, family, against, worst, mean, bound, note="") -> None:
        holds = None if bound is None else bool(worst is not None and worst <= bound)
        self.rows.append(dict(family=family, against=against, worst=worst, mean=mean, bound=bound, holds=holds,
                              note=note))
        print(f"   {family}, {against}: {shown(worst)} {note}", file=sys.stderr, flush=True)

    def finish(self, path) -> int:
        print(f"\nLosses of every token, or states, tiny random models, float32, lengths {LENGTHS}\n")
        print(f"{'':36}{'against':40}{'worst':>13}{'mean':>13}{'bound':>9}")
        for row in self.rows:
            verdict = {True: "holds", False: "FAILS", None: ""}[row["holds"]]
            print(f"{row['family']:36}{row['against']:40}{shown(row['worst']):>13}{shown(row['mean']):>13}"
                  f"{shown(row['bound']):>9}  {verdict} {row['note']}")
        if path:
            pathlib.Path(path).write_text(json.dumps(self.rows, indent=1) + "\n")
        failed = sum(row["holds"] is False for row in self.rows)
        print(f"\n{failed} of {len(self.rows)} rows fail" if failed else "\nall bounds hold")
        return 1 if failed else 0


MXFP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def in_mxfp4(model, folder: pathlib.Path) -> None:
    """Experts of gpt-oss as it is published: blocks of 32 of an output's inputs with a scale. The model gets what
    transformers unpacks of them."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    weights = dict(model.named_parameters())
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        rows = tensors.pop(name).transpose(1, 2).numpy()  # (experts, outputs, inputs)
        blocks = rows.reshape(*rows.shape[:2], -1, 32)
        exponent = np.floor(np.log2(np.abs(blocks).max(-1, keepdims=True) / 4))
        nearest = np.abs(blocks[..., None] / 2.0**exponent[..., None] - MXFP4).argmin(-1).astype(np.uint8)
        packed = nearest[..., 0::2] | nearest[..., 1::2] << 4
        tensors[name + "_blocks"] = torch.tensor(np.ascontiguousarray(packed))
        tensors[name + "_scales"] = torch.tensor(np.ascontiguousarray(exponent[..., 0] + 127).astype(np.uint8))
        unpacked = convert_moe_packed_tensors(tensors[name + "_blocks"], tensors[name + "_scales"], dtype=torch.float32)
        with torch.no_grad():
            weights[name].copy_(unpacked)
    save_file(tensors, path)
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}
    (folder / "config.json").write_text(json.dumps(config))


def with_other_names(folder: pathlib.Path) -> bool:
    """Gives a wrapper's tensors the names that other versions of transformers save; false where all save these."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    if any(name.startswith("language_model.") for name in tensors):
        changes = [("language_model.model.", "model.language_model."), ("language_model.lm_head.", "lm_head."),
                   ("vision_", "model.vision_"), ("multi_modal", "model.multi_modal"), ("image_", "model.image_")]
    elif any(name.startswith("visual.") for name in tensors):
        changes = [("model.", "model.language_model."), ("visual.", "model.visual.")]
    else:
        return False
    renamed = {}
    for name, tensor in tensors.items():
        old, new = next(((old, new) for old, new in changes if name.startswith(old)), ("", ""))
        renamed[new + name.removeprefix(old)] = tensor
    save_file(renamed, path)
    return True


def compare(case: Case, documents: list, threads: int, table: Table) -> None:
    config = case.configuration()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = made(config, getattr(transformers, case.auto), attention=case.attention)
        model.save_pretrained(folder / "model")
        if case.mxfp4:
            in_mxfp4(model, folder / "model")
        words = {f"t{k}": k for k in range(VOCABULARY)}  # some converters count them
        tokenizer = {"model": {"type": "WordPiece", "vocab": words}, "added_tokens": []}
        (folder / "model/tokenizer.json").write_text(json.dumps(tokenizer))
        of_makers, of_theirs, of_ours = case.answers()
        makers = [x for ids in documents for x in of_makers(model, ids)]
        if case.from_directory:
            ours = [x for ids in documents for x in of_ours(folder / "model", ids, threads)]
            table.add(case.family, "ours of the directory and transformers", ours, makers, TO_TRANSFORMERS)
        if case.tower is not None and with_other_names(folder / "model"):
            others = [x for ids in documents for x in of_ours(folder / "model", ids, threads)]
            table.add(case.family, "the same under other versions' names", others, ours, 0)
        if not case.from_gguf:
            return
        path = folder / "model.gguf"
        converted(folder / "model", path, case.added, case.edits)
        theirs = [x for ids in documents for x in of_theirs(path, ids, threads)]
        ours = [x for ids in documents for x in of_ours(path, ids, threads)]
        table.add(case.family, "transformers and llama.cpp", makers, theirs, None, case.apart)
        table.add(case.family, "ours of the GGUF and transformers", ours, makers, TO_TRANSFORMERS)
        table.add(case.family, "ours of the GGUF and llama.cpp", ours, theirs, None if case.apart else TO_LLAMA_CPP,
                  case.apart)


def main() -> int:
    options = arguments(__doc__, only=("", "families whose name has this"))
    transformers.logging.set_verbosity_error()
    generator = np.random.default_rng(3)
    documents = [[int(k) for k in generator.integers(3, VOCABULARY, length)] for length in LENGTHS]
    table = Table()
    for case in cases():
        if options.only not in case.family:
            continue
        try:
            compare(case, documents[: case.documents], options.threads, table)
        except Exception as error:  # of the model, the converter, or an engine: it must not pass for compared
            if not isinstance(error, subprocess.CalledProcessError):
                traceback.print_exc()
            table.put(case.family, "cannot be run", None, None, TO_TRANSFORMERS, f"{type(error).__name__}: {error}"[:200])
    return table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
