"""Texts that tokenizers are compared on: many scripts, white space, emoji, marks, code, numbers, special tokens."""

import random
import unicodedata

SEED = 20261130

# First and last of a script's letters and marks; what Unicode 3.2 did not have is left out, so that no two versions of
# its tables can differ on these.
SCRIPTS = (
    (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x250, 0x2AF), (0x386, 0x3FF), (0x400, 0x4FF), (0x531, 0x587),
    (0x5B0, 0x5EA), (0x621, 0x6ED), (0x901, 0x970), (0x981, 0x9F1), (0xA05, 0xA74), (0xB82, 0xBD7), (0xC01, 0xC6F),
    (0xD02, 0xD6F), (0xE01, 0xE5B), (0xE81, 0xEDD), (0xF00, 0xF47), (0x1000, 0x1059), (0x10A0, 0x10F6),
    (0x1100, 0x11F9), (0x1200, 0x137C), (0x13A0, 0x13F4), (0x1780, 0x17E9), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE),
    (0x3041, 0x3096), (0x30A1, 0x30FA), (0x3105, 0x312C), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0xF900, 0xFA2D),
    (0xFF01, 0xFF5E), (0xFF66, 0xFF9F), (0x10400, 0x1044D), (0x1D400, 0x1D4C0), (0x20000, 0x2A6D6),
)  # fmt: skip
SPACES = (" ", " ", " ", "  ", "   ", "    ", "\t", "\n", "\n\n", "\r\n", "\r", " \n", "\n ", "\u00a0", "\u2003", "\u3000",
          "\u2028", "\u0085", "\u200b", "\u1680", "\x0b", "\x0c", "\u202f")  # fmt: skip
EMOJI = ("😀", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷", "🇩🇪🇯🇵", "1️⃣", "❤️", "🧑🏿‍🚀", "☃", "✈️", "👩‍❤️‍💋‍👨", "⌨️", "😮‍💨")
CODE = ("for (int i = 0; i < n; ++i) {\n\tsum += x[i];\n}", "def f(x):\n    return x ** 2  # square\n",
        "SELECT * FROM t WHERE a <> 'b';", "<div class=\"x\">&amp;</div>", "https://example.org/a?b=c&d=%20#e",
        "\\frac{1}{2}\\,\\alpha_{i}^{2}", "if err != nil { return nil, err }", "x->y::z<T>&& w", "#include <vector>",
        "{\"key\": [1, 2.5e-3, null]}", "$HOME/bin:$PATH", "`code`~~~", "a/b\\c/d//e", "git commit -m \"fix: don't\"")  # fmt: skip
NUMBERS = ("0", "7", "42", "123", "1234", "1234567", "3.14159", "1,234,567.89", "-273.15", "1e-10", "0xDEADBEEF",
           "٠١٢٣٤٥", "१२३४", "½", "Ⅷ", "²³", "①②", "12abc34", "2024-11-30T09:15:00Z", "1/2", "50%", "₂", "１２３")  # fmt: skip
WORDS = ("I'll", "DON'T", "we're", "You've", "it's", "I'M", "he'd", "'tis", "rock'n'roll", "O'Neill", "HTTPServer",
         "camelCase", "snake_case", "co-operate", "e.g.", "naïve", "Ångström", "ﬁne", "İstanbul", "Σίσυφος", "ǅ",
         "STRASSE", "Straße", "caf\u0065\u0301", "do not", "Hello", "world", "the", "quick", "brown")  # fmt: skip
PUNCTUATION = ("...", "!?", "—", "«»", "“”", "'", "''", "\"", "(", ")", "[]", "---", "===", "。", "、", "，", "！", "…", "¿", "€",
               "$", "+", "^", "|", "~", "`", "@", "#", "*", "/", "//", "\\", "&", "<", ">", "_", "__")  # fmt: skip
SPECIAL = ("<s>", "</s>", "<unk>", "<pad>", "<|endoftext|>", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "<bos>", "<eos>",
           "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "<start_of_turn>", "<0x0A>", "\u2581",
           "<mask>", "<extra_id_0>", "<|user|>", "<think>", "##s", "<EOT>")  # fmt: skip
MARKS = [chr(c) for c in range(0x300, 0x370) if unicodedata.ucd_3_2_0.category(chr(c)) != "Cn"]


def letters(random_, low, high):
    while True:
        text = "".join(chr(random_.randint(low, high)) for _ in range(random_.randint(1, 8)))
        text = "".join(c for c in text if unicodedata.ucd_3_2_0.category(c) not in ("Cn", "Cs", "Co"))
        if text:
            return text


def fragment(random_):
    kind = random_.random()
    if kind < 0.22:
        return random_.choice(SPACES) * random_.choice((1, 1, 1, 2, 5))
    if kind < 0.42:
        return letters(random_, *random_.choice(SCRIPTS))
    if kind < 0.60:
        return random_.choice(WORDS)
    if kind < 0.68:
        return random_.choice(NUMBERS)
    if kind < 0.78:
        return random_.choice(PUNCTUATION)
    if kind < 0.83:
        return random_.choice(EMOJI)
    if kind < 0.88:
        return random_.choice(CODE)
    if kind < 0.93:
        return letters(random_, 0x61, 0x7A) + "".join(random_.choices(MARKS, k=random_.randint(1, 3)))
    if kind < 0.97:
        return random_.choice(SPECIAL)
    if kind < 0.98:
        return chr(random_.choice((0x01, 0x07, 0x1B, 0x7F, 0xAD, 0x200D, 0x202E, 0x2060, 0xFEFF, 0xFFFD, 0xE000)))
    if kind < 0.985:
        return random_.choice("aA1. -é日") * random_.randint(20, 150)
    return random_.choice(("0123456789" * 4, "abc" * 40, "=" * 80, "\n" * 9, " " * 33))


def make_texts(count, seed=SEED):
    random_ = random.Random(seed)
    texts = ["", " ", "\n", "a"]
    while len(texts) < count:
        texts.append("".join(fragment(random_) for _ in range(random_.choice((1, 2, 3, 5, 8, 13, 21)))))
    return texts


def make_broken(count, seed=SEED + 1):
    """Bytes: random ones, and texts with bytes taken out of them or put into them."""
    random_ = random.Random(seed)
    broken = []
    for text in make_texts(count, seed):
        data = bytearray(text.encode() or b"\xff")
        for _ in range(random_.randint(1, 4)):
            at = random_.randrange(len(data) + 1)
            if random_.random() < 0.5 and at < len(data):
                del data[at]
            else:
                data.insert(at, random_.randrange(0x80, 0x100))
        broken.append(bytes(data) if random_.random() < 0.8 else random_.randbytes(random_.randint(1, 40)))
    return broken
