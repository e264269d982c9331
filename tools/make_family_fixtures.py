"""tests/fixtures/families: one tiny random model for each family that the engine runs, and the losses that its maker's own
class gives.

usage: PYTHONPATH=scripts/peers make_family_fixtures.py OUT    with the environment of scripts/peers.sh models

Each is transformers' class in float32, its matrices of numbers that float16 has, made a GGUF file by llama.cpp's converter; losses.json has, by file, the ids and
-ln p of each but the first.
"""

import json
import pathlib
import sys
import tempfile

import numpy as np
import torch
import transformers

import family_models
from family_models import converted, gguf, losses, made
from models import cases

TINY = dict(vocab_size=family_models.VOCABULARY, hidden_size=32, intermediate_size=32, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=512, num_hidden_layers=2, tie_word_embeddings=False,
            bos_token_id=1, eos_token_id=2, pad_token_id=0, dtype="float32")
EXPERTS = dict(moe_intermediate_size=32, shared_expert_intermediate_size=32, intermediate_size_mlp=32)
OWN = {"gpt2": dict(n_embd=32, n_head=2, n_inner=128), "mpt": dict(d_model=32, n_heads=2, expansion_ratio=2),
       "bloom": dict(n_head=2, hidden_size=32), "phi": dict(num_key_value_heads=2, intermediate_size=128),
       "deepseek_v2": dict(num_key_value_heads=2), "minicpm3": dict(num_key_value_heads=2),
       "falcon": dict(ffn_hidden_size=128)}


def main() -> None:
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    transformers.logging.set_verbosity_error()
    ids = [int(k) for k in np.random.default_rng(5).integers(3, family_models.VOCABULARY, 300)]
    kept = {}
    for case in cases():
        if case.config.get("num_hidden_layers", 0) > 6:
            continue
        config = {**TINY, **case.config, **OWN.get(case.kind, {})}
        config |= {key: size for key, size in EXPERTS.items() if key in config}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            model = made(transformers.AutoConfig.for_model(case.kind, **config),
                         getattr(transformers, case.auto))
            with torch.no_grad():
                for weight in model.parameters():
                    if weight.dim() > 1:
                        weight.copy_(weight.half().float())
            model.save_pretrained(folder)
            words = {f"t{k}": k for k in range(family_models.VOCABULARY)}
            (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": words}, "added_tokens": []}))
            file = case.family.replace(", ", "_").replace(" ", "_") + ".gguf"
            converted(folder, out / file, case.added, case.edits, gguf.LlamaFileType.MOSTLY_F16)
            kept[file] = [round(loss, 6) for loss in losses(model, ids)]
    (out / "losses.json").write_text(json.dumps({"ids": ids, "losses": kept}) + "\n")


if __name__ == "__main__":
    main()
