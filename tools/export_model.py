"""Writes the bundled model as GGUF: matrices in bf16, norms in f32, the tokenizer as byte-level BPE."""

import json

import gguf
import numpy as np
import torch

NAME = "ropewalk-kjv-1m"
BOS, EOS = 0, 1


def to_bf16(tensor):
    """The nearest bf16 of each float32, as bits."""
    return tensor.detach().to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)


def export(model, tokenizer, path, matrix_type=gguf.GGMLQuantizationType.BF16):
    """The rows of attn_q and attn_k stay as they are: the model turns neighbours, as GGUF's "llama" does."""
    shape = model.shape
    part = path.with_suffix(".part")
    writer = gguf.GGUFWriter(part, "llama")
    writer.add_name(NAME)
    writer.add_description("A small Llama that has read the King James Version, at 256 tokens. Bundled with Ropewalk to "
                           "be stretched.")
    writer.add_license("MIT")
    writer.add_context_length(shape.context)
    writer.add_block_count(shape.layers)
    writer.add_embedding_length(shape.dim)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_vocab_size(shape.vocabulary)
    bf16 = matrix_type == gguf.GGMLQuantizationType.BF16
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16 if bf16 else gguf.LlamaFileType.ALL_F32)

    vocabulary = tokenizer.get_vocab()
    bpe = json.loads(tokenizer.to_str())["model"]
    special = (gguf.TokenType.CONTROL if id in (BOS, EOS) else gguf.TokenType.NORMAL for id in range(len(vocabulary)))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(sorted(vocabulary, key=vocabulary.get))
    writer.add_token_types(list(special))
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in bpe["merges"]])
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)

    for name, tensor in model.state_dict().items():
        if tensor.dim() == 2 and bf16:
            writer.add_tensor(name, to_bf16(tensor), raw_dtype=matrix_type)
        elif tensor.dim() == 2:  # the same values, in wider numbers
            writer.add_tensor(name, tensor.to(torch.bfloat16).float().numpy())
        else:
            writer.add_tensor(name, tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(path)
