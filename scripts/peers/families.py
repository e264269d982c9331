# peers: scorer converter
"""Each rule of positions of architectures beside llama, on a tiny random model, against llama.cpp.

The engine here runs llama alone, so a model is transformers' own class, saved, made a GGUF file by llama.cpp's
converter, and scored by llama.cpp. On this side transformers' forward runs with positions that `ropewalk show` reads
from that file in place of its own (family_models.py). What is proved is that what show reads is what llama.cpp
computes; that a rule matters at all is a bound, too: the losses are told apart from those without the rule.
"""

import dataclasses
import math
import pathlib
import sys
import tempfile
import traceback
import typing

import numpy as np
import transformers

from comparison import Comparison, arguments, llama_losses
from family_models import SMALL, VOCABULARY, Family, LayerRule, Positions, gguf, plain_inv_freq

BOUND = 1e-3
MOVED = 1e-2  # nats, of the token that a rule moves most
ORIGINAL, WINDOW, BASE = 256, 64, 10000.0

DEFAULT = dict(rope_type="default", rope_theta=BASE)
LINEAR = dict(rope_type="linear", rope_theta=BASE, factor=8.0)
YARN = dict(rope_type="yarn", rope_theta=BASE, factor=8.0, original_max_position_embeddings=ORIGINAL)
BETAS = dict(beta_fast=8.0, beta_slow=2.0)
LLAMA3 = dict(rope_type="llama3", rope_theta=BASE, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=ORIGINAL)
VISION = dict(depth=1, embed_dim=32, hidden_size=64, num_heads=2, intermediate_size=64, out_hidden_size=64,
              num_position_embeddings=16, deepstack_visual_indexes=[])
PLAIN = dict(rope_parameters=DEFAULT)


# ---- what is left of rules when one of them is taken away

def of_layers(change: typing.Callable) -> typing.Callable:
    """change(rules of all layers) gives others."""
    return lambda positions: Positions(change(positions.layers), positions.mechanisms)


def each(change: typing.Callable) -> typing.Callable:
    """Of every layer that is rotated."""
    return of_layers(lambda rules: [rule if rule.inv_freq is None else change(rule) for rule in rules])


def everywhere(**change) -> typing.Callable:
    return of_layers(lambda rules: [rule.but(**change) for rule in rules])


def mechanism(change: typing.Callable) -> typing.Callable:
    return lambda positions: positions.but(change)


def plain(rule: LayerRule, base=None) -> LayerRule:
    return rule.but(inv_freq=plain_inv_freq(base or rule.base, len(rule.inv_freq)))


def whole_head(rule: LayerRule) -> LayerRule:
    return rule.but(inv_freq=plain_inv_freq(rule.base, rule.head_dim // 2))


def other_order(rule: LayerRule) -> LayerRule:
    return rule.but(order="half" if rule.order == "interleaved" else "interleaved")


@of_layers
def all_rotated(rules: list) -> list:
    one = next(rule for rule in rules if rule.inv_freq is not None)
    return [rule if rule.inv_freq is not None
            else one.but(layer=rule.layer, window=rule.window, temperature=rule.temperature) for rule in rules]


@of_layers
def sliding_as_full(rules: list) -> list:
    full = next(rule for rule in rules if rule.window is None)
    return [rule if rule.window is None else full.but(layer=rule.layer, window=rule.window) for rule in rules]


@of_layers
def full_as_sliding(rules: list) -> list:
    sliding = next(rule for rule in rules if rule.window is not None)
    return [sliding.but(layer=rule.layer, window=None) if rule.window is None else rule for rule in rules]


@of_layers
def one_base(rules: list) -> list:
    full = next(rule for rule in rules if rule.window is None)
    return [rule if rule.window is None else plain(rule, full.base) for rule in rules]


@each
def usual_yarn(rule: LayerRule) -> LayerRule:
    """YaRN as llama.cpp has it where it does not read the betas: from 32 turns to 1, at whole pairs."""
    pairs, dim = np.arange(len(rule.inv_freq)), 2 * len(rule.inv_freq)
    low, high = (dim * math.log(ORIGINAL / (2 * math.pi * turns)) / (2 * math.log(rule.base)) for turns in (32, 1))
    low, high = max(0, math.floor(low)), min(dim - 1, math.ceil(high))
    scaled = np.clip((pairs - low) / max(0.001, high - low), 0, 1)
    return rule.but(inv_freq=plain_inv_freq(rule.base, len(pairs)) * (1 - scaled + scaled / YARN["factor"]))


without_windows = everywhere(window=None)
SCALING, WIDTH, ORDER = ("scaling", each(plain)), ("width", each(whole_head)), ("pairs", each(other_order))
WINDOWS, TEMPERATURE = ("windows", without_windows), ("temperature", everywhere(temperature=None))
AMPLITUDE, MULTIPLIER = ("amplitude", each(lambda rule: rule.but(amplitude=1.0))), (
    "logit multiplier", each(lambda rule: rule.but(logit_multiplier=1.0)))
NOT_ROTATED = ("layers without rotation", all_rotated)
ONE_BASE = "sliding layers' base", one_base
OWN_SLIDING, OWN_FULL = ("sliding layers' own", sliding_as_full), ("full layers' own", full_as_sliding)


OWN_BETAS = "yarn_beta_fast = 8, as the model has it; llama.cpp does not look at it and takes 32"
SOME_SLIDE = "lets layers slide in the model of 64 only"
FOURTH = "pairs 7 turn with time; llama.cpp turns them by a fourth coordinate that it fills with 0"
by_fourth = each(lambda rule: rule.but(axis=rule.axis[:7] + ["fourth"]))
ONE_AXIS = "axes", each(lambda rule: rule.but(axis=["time"] * 8))
LATER_ROWS = "rows where they are", mechanism(lambda found: {"offset": 1})
STEEPER = "slopes", mechanism(lambda found: {"slopes": [2 * slope for slope in found["slopes"]]})


def base_of(base: float) -> tuple:
    return "base", each(lambda rule: plain(rule, base))


# ---- the cases

NO_CLASS = "transformers has no class of it"
ENCODER = "an encoder gives no log-probabilities"
NOT_MADE = "no tiny model of it is made here"


@dataclasses.dataclass
class Case:
    name: str
    kind: str  # transformers' model_type
    config: dict
    moves: list  # (name, rules without it)
    stripped: dict = dataclasses.field(default_factory=dict)
    added: dict = dataclasses.field(default_factory=dict)
    edits: dict = dataclasses.field(default_factory=dict)
    auto: str = "AutoModelForCausalLM"
    own_attention: bool = False
    tokens: int | None = None
    vision: bool = False  # the configuration is that of the text inside another
    apart: bool = False  # tokens stand at other positions on each axis
    first: int = 0  # position of the first token
    # Where llama.cpp takes something else than the file says: words of show's finding, and the rules by it.
    finding: tuple | None = None


def u32(value: int) -> tuple:
    return gguf.GGUFValueType.UINT32, value


def f32(value: float) -> tuple:
    return gguf.GGUFValueType.FLOAT32, value


def lists(pairs: int, original: int) -> dict:
    rising = np.linspace(1, 6, pairs)
    return dict(rope_type="longrope", rope_theta=BASE, long_factor=rising.tolist(),
                short_factor=np.sqrt(rising).tolist(), original_max_position_embeddings=original)


def latent(**more) -> dict:
    """Of DeepSeek; its layers have no experts, but the numbers of them must be there."""
    return dict(num_experts_per_tok=2, n_routed_experts=2, n_group=1, topk_group=1, first_k_dense_replace=2,
                num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=8, qk_rope_head_dim=16,
                v_head_dim=16, **more)


def by_layer(full: dict, sliding: dict) -> dict:
    return dict(full_attention=full, sliding_attention=sliding)


def cases() -> list:
    layered = dict(num_hidden_layers=4, sliding_window=WINDOW)
    gemma = dict(head_dim=16, query_pre_attn_scalar=16, sliding_window=WINDOW, tie_word_embeddings=True)
    experts = dict(num_experts=2, num_experts_per_tok=2, moe_intermediate_size=96, head_dim=16)
    three_of_four = ["sliding_attention"] * 3 + ["full_attention"]
    return [
        # halves, parts of a head
        Case("qwen2, base 5000", "qwen2", dict(rope_parameters={**DEFAULT, "rope_theta": 5000.0}),
             [ORDER, base_of(BASE)]),
        Case("qwen2, yarn", "qwen2", dict(rope_parameters=YARN), [SCALING, AMPLITUDE, ORDER], PLAIN),
        Case("qwen2, yarn, betas: llama.cpp's", "qwen2", dict(rope_parameters={**YARN, **BETAS}), [SCALING], PLAIN,
             finding=(OWN_BETAS, usual_yarn)),
        Case("qwen2, linear", "qwen2", dict(rope_parameters=LINEAR), [SCALING], PLAIN),
        Case("phi2, half of a head", "phi", dict(partial_rotary_factor=0.5, num_key_value_heads=4,
                                                 intermediate_size=256), [ORDER, WIDTH]),
        Case("gptneox, a quarter", "gpt_neox", dict(rope_parameters={**DEFAULT, "partial_rotary_factor": 0.25}),
             [ORDER, WIDTH], added={"rotary_pct": 0.25}),
        Case("stablelm, a quarter", "stablelm", dict(rope_parameters={**DEFAULT, "partial_rotary_factor": 0.25}),
             [ORDER, WIDTH]),
        Case("nemotron, half of a head", "nemotron",
             dict(head_dim=16, rope_parameters={**DEFAULT, "partial_rotary_factor": 0.5}), [ORDER, WIDTH]),
        Case("glm4, half of a head", "glm4", dict(head_dim=16,
                                                  rope_parameters={**DEFAULT, "partial_rotary_factor": 0.5}),
             [ORDER, WIDTH]),
        *[Case(f"{name}, plain", kind, config, [ORDER]) for name, kind, config in (
            ("command-r", "cohere", dict(tie_word_embeddings=True)), ("ernie4_5", "ernie4_5", dict(head_dim=16)),
            ("granite", "granite", {}), ("olmo", "olmo", {}), ("seed_oss", "seed_oss", dict(head_dim=16)),
            ("starcoder2", "starcoder2", {}), ("llama, of mistral", "mistral", {}))],
        # lists of divisors
        Case("phi3, longrope, long", "phi3", dict(rope_parameters=lists(8, ORIGINAL),
                                                  original_max_position_embeddings=ORIGINAL),
             [SCALING, AMPLITUDE], PLAIN),
        Case("phi3, longrope, short", "phi3", dict(rope_parameters=lists(8, 1024),
                                                   original_max_position_embeddings=1024), [SCALING, AMPLITUDE], PLAIN),
        Case("phi3, longrope, three quarters of a head", "phi3",
             dict(rope_parameters={**lists(6, ORIGINAL), "partial_rotary_factor": 0.75},
                  original_max_position_embeddings=ORIGINAL), [SCALING, WIDTH], PLAIN),
        Case("minicpm3, longrope, long", "minicpm3", latent(rope_parameters=lists(8, ORIGINAL)), [SCALING], PLAIN,
             edits={"rope.scaling.original_context_length": u32(ORIGINAL)}),
        Case("minicpm3, longrope, short", "minicpm3", latent(rope_parameters=lists(8, ORIGINAL)), [SCALING], PLAIN),
        Case("apertus, llama3", "apertus", dict(rope_parameters=LLAMA3), [SCALING, ORDER], PLAIN),
        # sliding layers
        Case("gemma2", "gemma2", gemma, [WINDOWS]),
        Case("gemma3, linear in full layers", "gemma3_text",
             dict(**gemma, num_hidden_layers=6, rope_parameters=by_layer({**LINEAR, "rope_theta": 1e6}, DEFAULT)),
             [WINDOWS, OWN_SLIDING, OWN_FULL]),
        Case("gemma4, proportional, wider full layers", "gemma4_text",
             dict(head_dim=16, global_head_dim=32, sliding_window=WINDOW, tie_word_embeddings=True, num_hidden_layers=6,
                  hidden_size_per_layer_input=0, num_kv_shared_layers=0, vocab_size_per_layer_input=VOCABULARY,
                  enable_moe_block=False, final_logit_softcapping=30.0), [WINDOWS, SCALING, ONE_BASE]),
        Case("olmo2, yarn", "olmo2", dict(rope_parameters=YARN), [SCALING, AMPLITUDE], PLAIN),
        Case("olmo3, yarn in full layers", "olmo3", dict(**layered, rope_parameters=by_layer(YARN, DEFAULT)),
             [WINDOWS, OWN_SLIDING, OWN_FULL]),
        Case("gpt-oss, yarn, truncate false", "gpt_oss",
             dict(head_dim=16, sliding_window=WINDOW, num_local_experts=2, num_experts_per_tok=2,
                  rope_parameters={**YARN, "truncate": False, "beta_fast": 32.0, "beta_slow": 1.0}),
             [SCALING, AMPLITUDE, WINDOWS], PLAIN),
        Case("gpt-oss, betas: llama.cpp's", "gpt_oss",
             dict(head_dim=16, sliding_window=WINDOW, num_local_experts=2, num_experts_per_tok=2,
                  rope_parameters={**YARN, "truncate": False, **BETAS}), [SCALING], PLAIN,
             finding=(OWN_BETAS, usual_yarn)),
        Case("laguna, yarn in full layers", "laguna",
             dict(**experts, **layered, rope_parameters=by_layer(YARN, DEFAULT)), [WINDOWS, OWN_SLIDING, OWN_FULL]),
        Case("mellum, yarn in full layers", "mellum",
             dict(**experts, **layered, layer_types=three_of_four, rope_parameters=by_layer(YARN, DEFAULT)),
             [WINDOWS, OWN_SLIDING, OWN_FULL]),
        Case("granite_swa", "granite_swa", dict(**layered, layer_types=three_of_four), [WINDOWS, ORDER]),
        # layers without rotation
        Case("cohere2", "cohere2", dict(**layered, tie_word_embeddings=True), [NOT_ROTATED, ORDER, WINDOWS],
             added={"rotary_pct": 1.0}),
        Case("smollm3", "smollm3", dict(num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0]), [NOT_ROTATED, ORDER]),
        Case("exaone4 of 4 layers, llama3: llama.cpp's", "exaone4",
             dict(**layered, sliding_window_pattern=4, rope_parameters=LLAMA3), [SCALING], PLAIN,
             finding=(SOME_SLIDE, lambda positions: all_rotated(without_windows(positions)))),
        Case("exaone4 of 64 layers, llama3", "exaone4",
             dict(num_hidden_layers=64, sliding_window=WINDOW, sliding_window_pattern=4, rope_parameters=LLAMA3),
             [NOT_ROTATED, WINDOWS, SCALING], PLAIN),
        Case("exaone-moe", "exaone_moe",
             dict(**experts, **layered, sliding_window_pattern=4, first_k_dense_replace=4,
                  mlp_layer_types=["dense"] * 4), [NOT_ROTATED, WINDOWS], added={"scoring_func": "sigmoid"}),
        Case("afmoe", "afmoe", dict(**layered, head_dim=16, num_dense_layers=4, global_attn_every_n_layers=4,
                                    mup_enabled=True), [NOT_ROTATED, WINDOWS, ORDER]),
        Case("cohere2moe", "cohere2_moe", dict(**experts, **layered, tie_word_embeddings=True),
             [NOT_ROTATED, WINDOWS, ORDER]),
        Case("granite_swa, attention.rope_pattern", "granite_swa", dict(**layered, layer_types=three_of_four),
             [NOT_ROTATED, WINDOWS], added={"no_rope_layers": [1, 0, 1, 0]}),
        Case("granite, finetuned false", "granite", {}, [("layers without rotation", everywhere(
            inv_freq=plain_inv_freq(BASE, 8), order="interleaved", head_dim=16))],
             edits={"rope.scaling.finetuned": (gguf.GGUFValueType.BOOL, False)}),
        # temperatures and betas, logit multipliers, alpha
        Case("llama4, across 8192", "llama4_text",
             dict(num_hidden_layers=4, head_dim=16, num_local_experts=2, num_experts_per_tok=2,
                  intermediate_size_mlp=96, max_position_embeddings=16384), [NOT_ROTATED, TEMPERATURE, WINDOWS],
             dict(attn_temperature_tuning=False), first=8192 - 320),
        Case("mistral3, yarn, betas, a temperature", "ministral3",
             dict(head_dim=16, rope_parameters={**YARN, **BETAS, "mscale": 1.0,
                                                "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.3}),
             [SCALING, TEMPERATURE, ORDER],
             dict(rope_parameters={**DEFAULT, "llama_4_scaling_beta": 0.0,
                                   "original_max_position_embeddings": ORIGINAL})),
        Case("deepseek2 of V2, mscale 0.7", "deepseek_v2",
             latent(rope_parameters={**YARN, "mscale": 0.7, "mscale_all_dim": 0.7}),
             [SCALING, MULTIPLIER, ORDER], PLAIN),
        Case("deepseek2 of V3, mscale 1", "deepseek_v3",
             latent(rope_parameters={**YARN, "mscale": 1.0, "mscale_all_dim": 1.0}),
             [SCALING, MULTIPLIER, ORDER], PLAIN),
        Case("hunyuan-dense, alpha 1000", "hunyuan_v1_dense",
             dict(head_dim=16, max_position_embeddings=32768,
                  rope_parameters=dict(rope_type="dynamic", rope_theta=BASE, alpha=1000.0, factor=1.0)),
             [base_of(BASE)], PLAIN),
        Case("hunyuan-dense, the key alpha", "hunyuan_v1_dense", dict(head_dim=16, rope_parameters=DEFAULT),
             [base_of(BASE)], edits={"rope.scaling.alpha": f32(50.0)}),
        Case("deepseek2, a temperature with a length", "deepseek_v3", latent(rope_parameters=DEFAULT), [TEMPERATURE],
             edits={"attention.temperature_scale": f32(0.3), "attention.temperature_length": u32(128)}),
        # several axes
        *[Case(f"{name}, {where}", kind, dict(head_dim=16, rope_parameters={**DEFAULT, "mrope_section": sections}),
               moves, auto="AutoModelForImageTextToText", vision=True, apart=where != "text", finding=finding)
          for name, kind, sections, finding in (
              ("qwen2vl", "qwen2_vl", [2, 3, 3], None),
              ("qwen3vl, no pair left over", "qwen3_vl", [3, 3, 2], None),
              ("qwen3vl, a pair left over: llama.cpp's", "qwen3_vl", [4, 2, 2], (FOURTH, by_fourth)))
          for where, moves in (("text", [ORDER] if finding is None else [ORDER, ONE_AXIS]),
                               ("positions apart", [ORDER, ONE_AXIS]))],
        # no rotation
        Case("gpt2, a table", "gpt2", dict(n_embd=64, n_head=4, n_layer=2, n_inner=256), [LATER_ROWS],
             added={"n_ctx": 2048}),
        Case("starcoder, a table", "gpt_bigcode", dict(n_embd=64, n_head=4, n_layer=2, n_inner=256),
             [LATER_ROWS]),
        Case("bloom, ALiBi", "bloom", dict(n_head=4, n_layer=2), [STEEPER], own_attention=True),
        Case("bloom, ALiBi of 6 heads", "bloom", dict(hidden_size=48, n_head=6, n_layer=2), [STEEPER],
             own_attention=True),
        Case("mpt, ALiBi up to 8", "mpt", dict(d_model=64, n_heads=4, n_layers=2, expansion_ratio=4), [STEEPER],
             added={"architectures": ["MPTForCausalLM"]}, own_attention=True),
        Case("t5, buckets", "t5", dict(d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4,
                                       decoder_start_token_id=0, relative_attention_num_buckets=32,
                                       relative_attention_max_distance=128, feed_forward_proj="relu"),
             [("far buckets", mechanism(lambda found: {"max_distance": 64}))], auto="AutoModelForSeq2SeqLM",
             own_attention=True, tokens=500),
    ]


# What cannot be run, or is not, and why.
LEFT_OUT = {
    "yarn_ext_factor and yarn_attn_factor, which llama.cpp reads under grok alone": NO_CLASS,
    "layers 0, 4, ... without rotation (smallthinker)": NO_CLASS,
    "rotation or ALiBi by the number of layers (baichuan)": NO_CLASS,
    "windows on both sides (modern-bert, gemma-embedding)": ENCODER,
    "tables of BERT, rows of token types, ALiBi of jina-bert-v2": ENCODER,
    "layers with attention by an interval (qwen3next, qwen35, minimax-01)": NOT_MADE,
    "half of the width in full layers (step35)": NOT_MADE,
    "bases of compressed layers (deepseek4)": NOT_MADE,
    "rotation that no key changes (cogvlm, deepseek2-ocr)": NOT_MADE,
}


def farthest(a, b) -> int:
    """The token at which the two differ most."""
    assert len(a) == len(b)
    return max(range(len(a)), key=lambda t: abs(a[t] - b[t]))


def axes_of(case: Case, tokens: int) -> dict:
    """Positions of tokens, by axis; "" of all that are not named."""
    time = case.first + np.arange(tokens)
    return {"": time, "time": time, "height": time * 7 % 41, "width": time * 5 % 23} if case.apart else {"": time}


def config_of(case: Case):
    config = {**SMALL, **case.config}
    if case.vision:
        config = dict(text_config=config, vision_config=VISION, tie_word_embeddings=False)
    return transformers.AutoConfig.for_model(case.kind, **config)


def expected(case: Case, family: Family) -> Positions:
    """What show says of the file; where its finding says that llama.cpp takes something else, that."""
    if case.finding is None:
        return family.positions
    text, by_finding = case.finding
    if not any(text in finding["text"] for finding in family.shown["findings"]):
        raise ValueError(f"{case.name}: show does not say: {text}")
    return by_finding(family.positions)


def compare(case: Case, ids: list, threads: int, table: Comparison) -> None:
    ids = ids[:case.tokens]
    axes = axes_of(case, len(ids) - 1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        family = Family(folder, config_of(case), len(ids), case.stripped, case.added, case.edits, case.auto,
                        case.own_attention)
        more = []
        if case.apart:
            (folder / "embedded").write_bytes(family.embedded(ids, axes))
            more = [folder / "embedded"]
        peer = llama_losses(family.path, [ids], "f32", threads, case.first, *more)[0]
        positions = expected(case, family)
        losses = family.losses(ids, axes, positions)
        worst = farthest(losses, peer)
        table.add(f"{case.name}, token {worst + 1} is worst", losses[worst], peer[worst],
                  abs(losses[worst] - peer[worst]), BOUND)
        for name, without in case.moves:
            other = family.losses(ids, axes, without(positions))
            moved = abs(other[farthest(other, peer)] - peer[farthest(other, peer)])
            share = MOVED / max(moved, 1e-9)
            table.add(f"{case.name}, share of the least move without: {name}", moved, MOVED, share, 1)


def main() -> int:
    options = arguments(__doc__, tokens=(640, "how many of a random document"), only=("", "cases whose name has this"))
    transformers.logging.set_verbosity_error()
    ids = [int(k) for k in np.random.default_rng(2).integers(3, VOCABULARY, options.tokens)]
    table = Comparison(f"Rules of GGUF files of other architectures on random models, {len(ids)} tokens, llama.cpp "
                       "with a float32 cache")
    chosen = [case for case in cases() if options.only in case.name]
    for case in chosen:
        try:
            compare(case, ids, options.threads, table)
        except Exception as error:  # of the model, the converter, or an engine: it must not pass for compared
            traceback.print_exc()
            table.add(f"{case.name} cannot be run: {type(error).__name__}", None, None, math.inf, BOUND)
    for rule, reason in LEFT_OUT.items():
        table.add(f"left out: {rule}: {reason}", None, None, None)
    table.add(f"{len(chosen)} cases compared; rules left out", len(LEFT_OUT), None, None)
    return table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
