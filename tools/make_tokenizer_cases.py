#!/usr/bin/env python3
"""Writes tests/fixtures/tokenizer/: small vocabularies, texts, and the ids that others give them.

Needs the package tokenizers (its own training and encoding are the reference for byte-level BPE). The
reference for SentencePiece BPE is written out here, slowly and plainly. The same packages give the same
bytes, so a diff in git shows what changed.

  byte_level.json      one vocabulary per pre-tokenizer: tokens, merges, added tokens, [{text, ids}]
  sentencepiece.json   one vocabulary: tokens, scores, types, [{text, ids}]
"""

import argparse
import json
import pathlib
import random

from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, trainers

SEED = 20240521
VOCABULARY = 420

# The patterns as the models' own tokenizer.json spell them.
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
TEKKEN = (f"{LEAD}{UPPER}*{LOWER}+|{LEAD}{UPPER}+{LOWER}*" r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL)
GPT4O = (f"{LEAD}{UPPER}*{LOWER}+{CONTRACTIONS}?|{LEAD}{UPPER}+{LOWER}*{CONTRACTIONS}?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL)
DEEPSEEK_V3 = [
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*" + TAIL,
]


def split(*patterns):
    steps = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre_tokenizers.Sequence(steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


PRETOKENIZERS = {
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]),
    "llama-bpe": split(LLAMA3),
    "qwen2": split(QWEN2),
    "tekken": split(TEKKEN),
    "gpt-4o": split(GPT4O),
    "deepseek-v3": split(*DEEPSEEK_V3),
}
IGNORE_MERGES = {"llama-bpe", "tekken"}

CORPUS = [
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park.",
    "I'm sure you're right, and they've said it'll work; he'd know, that's what THEY'LL say.",
    "def rotate(x, angle):\n    return x * cos(angle)\n\n\nfor i in range(1024):\n\tprint(i, 3.14159)\n",
    "В далёком лесу жил-был медведь. 日本語のテキストです。 한국어 문장입니다. العربية नमस्ते",
    "if (a >= 10 && b != 20) { return 300; } // 2024-05-21 12:34:56\r\n\r\n",
    "camelCase HTTPServer XMLHttpRequest iPhone McDonald 12345678 $9.99 50%",
] * 3

TEXTS = [
    "", " ", "  ", "\n", "\n\n", "\r\n", "\t", "a", " a", "  a", "a ", "a  ", "   \n  \n x",
    "Once upon a time", "Lily's mom said: \"It'LL be fine!\"", "we'Ve I'M you'RE 'tis 's",
    "3", "33", "333", "3333", "33333", "3.14159e-10", "１２３ ①② ⅷ ٣٤٥ ½",
    "naïve café", "e\u0301a\u0308 o\u0302", "Ελληνικά", "нещо на Български", "日本語のテキスト、カタカナ",
    "我想在apple工作1314151天～", "한국어 문장", "العربية نص", "עברית", "हिन्दी में नमस्ते", "ภาษาไทย",
    "កាន់តែពិសេស", "🚀 (normal) 😶‍🌫️ ✅", "👩‍👩‍👧‍👦🇩🇪",
    "x\u00a0y\u2003z\u3000w\u2028v\u0085u", "a\u180eb", "\u200b\u200d\ufeff", "\x00\x01\x1c\x1d\x1f\x7f",
    "def f(x):\n    return x  # ok\n\n\n", "\tif (a) {\r\n\t\t}\r\n\r\n", "a/b//c\\d", "--==++//**\n\n/",
    "camelCaseHTTPServer iPhone's McDONALD'S", "ǅungla ǈubav ʰʷ ªº", "https://example.com/a?b=c&d=e#f",
    "<|end|>", "a<|end|>b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "          x          ", "ſ'ſ K'K",
]


def random_texts(rng, count):
    ranges = [(0x20, 0x7e), (0xa0, 0x24f), (0x370, 0x52f), (0x590, 0x6ff), (0x900, 0x97f), (0x2000, 0x206f),
              (0x3000, 0x30ff), (0x4e00, 0x9fff), (0x1f300, 0x1f6ff)]
    words = ["'s", "'LL", "hello", "World", " the", "\n\n", " 1234", "  x", "\r\n", "\t", " ", "!", " ..."]
    for _ in range(count):
        parts = []
        for _ in range(rng.randrange(1, 12)):
            if rng.random() < 0.7:
                parts.append(rng.choice(words))
            else:
                low, high = rng.choice(ranges)
                parts.append("".join(chr(rng.randrange(low, high + 1)) for _ in range(rng.randrange(1, 4))))
        yield "".join(parts)


def byte_level(pre, texts):
    tokenizer = Tokenizer(models.BPE(ignore_merges=pre in IGNORE_MERGES))
    tokenizer.pre_tokenizer = PRETOKENIZERS[pre]
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(CORPUS, trainer)
    state = json.loads(tokenizer.to_str())["model"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in state["merges"]]
    if pre in IGNORE_MERGES:  # so that the flag shows: this token is a word, and no merges lead to it
        state["vocab"]["rotate"] = len(state["vocab"])
        tokenizer.model = models.BPE(vocab=state["vocab"], merges=[tuple(m.split(" ")) for m in merges],
                                     ignore_merges=True)
        texts = texts + ["rotate", "rotates"]
    tokenizer.add_tokens([AddedToken("<|end|>", normalized=False)])  # matched in any text: user defined
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    tokens = sorted(vocabulary, key=vocabulary.get)
    return {
        "pre": pre,
        "tokens": tokens,
        "user_defined": [vocabulary["<|end|>"]],
        "merges": merges,
        "cases": [{"text": text, "ids": tokenizer.encode(text).ids} for text in texts],
    }


def encode_sentencepiece(text, pieces, scores, byte_ids):
    """Merges the best pair of the whole text, the leftmost among equals, until there is none."""
    symbols = list("\u2581" + text.replace(" ", "\u2581")) if text else []
    while True:
        pairs = [(-scores[pieces[a + b]], i) for i, (a, b) in enumerate(zip(symbols, symbols[1:]))
                 if a + b in pieces]
        if not pairs:
            break
        at = min(pairs)[1]
        symbols[at:at + 2] = ["".join(symbols[at:at + 2])]
    ids = []
    for symbol in symbols:
        ids += [pieces[symbol]] if symbol in pieces else [byte_ids[byte] for byte in symbol.encode()]
    return ids


def sentencepiece(rng, texts):
    """Random pieces of the corpus, with few distinct scores so that ties are common."""
    escaped = ["\u2581" + line.replace(" ", "\u2581") for line in CORPUS]
    pieces = {c for line in escaped[:3] for c in line if c.isprintable()} | {"\u2581"}
    while len(pieces) < 320:
        line = rng.choice(escaped)
        begin = rng.randrange(len(line))
        pieces.add(line[begin:begin + rng.choice([2, 2, 2, 3, 3, 4, 5, 8])])
    special = ["<unk>", "<s>", "</s>"]
    byte_ids = [len(special) + byte for byte in range(256)]
    tokens = special + [f"<0x{byte:02X}>" for byte in range(256)] + sorted(pieces)
    types = [2, 3, 3] + [6] * 256 + [1] * len(pieces)
    scores = [0.0] * (len(special) + 256) + [-float(rng.randrange(1, 40)) for _ in pieces]
    piece_ids = {piece: tokens.index(piece) for piece in pieces}
    return {
        "tokens": tokens,
        "scores": scores,
        "types": types,
        "cases": [{"text": text, "ids": encode_sentencepiece(text, piece_ids, scores, byte_ids)}
                  for text in texts],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent.parent / "tests" / "fixtures" / "tokenizer")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(SEED)
    texts = TEXTS + list(random_texts(rng, 60))

    def write(name, value):
        (folder / name).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")

    write("byte_level.json", [byte_level(pre, texts) for pre in PRETOKENIZERS])
    write("sentencepiece.json", sentencepiece(rng, texts + CORPUS[:6]))


if __name__ == "__main__":
    main()
