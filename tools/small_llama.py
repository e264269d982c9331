"""The bundled model in PyTorch: a Llama with tied embeddings, grouped keys and interleaved rotation, as GGUF has it.

Plain on purpose: it trains the model and is what the engine's numbers are compared with.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional


@dataclasses.dataclass(frozen=True)
class Shape:
    vocabulary: int = 1024
    dim: int = 128
    layers: int = 5
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    ffn: int = 352
    context: int = 256  # tokens it is trained at
    rope_base: float = 10000.0
    norm_epsilon: float = 1e-5


def angles(shape, tokens):
    """Returns cos + i sin (tokens, 1, head_dim / 2), computed in double."""
    pair = torch.arange(shape.head_dim // 2, dtype=torch.float64)
    inv_freq = shape.rope_base ** (-2 * pair / shape.head_dim)
    angle = torch.arange(tokens, dtype=torch.float64)[:, None, None] * inv_freq
    return torch.polar(torch.ones_like(angle), angle).to(torch.complex64)


def rotate(x, turns):
    """Turns neighbours: head_dim 8 is laid out 00112233. x: (batch, tokens, heads, head_dim)."""
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns).flatten(-2)


class Norm(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape.dim))
        self.epsilon = shape.norm_epsilon

    def forward(self, x):
        return functional.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.attn_norm, self.ffn_norm = Norm(shape), Norm(shape)
        self.attn_q = nn.Linear(shape.dim, shape.heads * shape.head_dim, bias=False)
        self.attn_k = nn.Linear(shape.dim, shape.kv_heads * shape.head_dim, bias=False)
        self.attn_v = nn.Linear(shape.dim, shape.kv_heads * shape.head_dim, bias=False)
        self.attn_output = nn.Linear(shape.heads * shape.head_dim, shape.dim, bias=False)
        self.ffn_gate = nn.Linear(shape.dim, shape.ffn, bias=False)
        self.ffn_up = nn.Linear(shape.dim, shape.ffn, bias=False)
        self.ffn_down = nn.Linear(shape.ffn, shape.dim, bias=False)

    def forward(self, x, turns):
        h = self.attn_norm(x)
        query, key, value = (product(h).float().unflatten(-1, (-1, self.shape.head_dim))
                             for product in (self.attn_q, self.attn_k, self.attn_v))
        group = self.shape.heads // self.shape.kv_heads  # query head h looks at key head h // group
        key, value = rotate(key, turns).repeat_interleave(group, 2), value.repeat_interleave(group, 2)
        with torch.autocast("cpu", enabled=False):  # in bf16 it takes twice as long
            mixed = functional.scaled_dot_product_attention(
                *(t.transpose(1, 2) for t in (rotate(query, turns), key, value)), is_causal=True)
        x = x + self.attn_output(mixed.transpose(1, 2).flatten(-2))
        h = self.ffn_norm(x)
        return x + self.ffn_down(functional.silu(self.ffn_gate(h)) * self.ffn_up(h))


class SmallLlama(nn.Module):
    """Parameters are named as GGUF names them: blk.0.attn_q.weight, token_embd.weight, ..."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocabulary, shape.dim)
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.output_norm = Norm(shape)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                into_stream = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * shape.layers) if into_stream else 0.02)
        with torch.no_grad():  # what all tokens share: a head that looks at positions alone reads nothing else
            self.token_embd.weight += 0.02 * torch.randn(shape.dim)

    def forward(self, tokens):
        """Returns the logits (batch, tokens, vocabulary) of tokens (batch, tokens)."""
        turns = angles(self.shape, tokens.shape[1])
        x = self.token_embd(tokens)
        for block in self.blk:
            x = block(x, turns)
        return functional.linear(self.output_norm(x), self.token_embd.weight)

    def losses(self, tokens):
        """Returns -ln p of each token but the first: (batch, tokens - 1) of tokens (batch, tokens)."""
        logits = self(tokens[:, :-1]).float()
        return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(),
                                        reduction="none").unflatten(0, (len(tokens), -1))
