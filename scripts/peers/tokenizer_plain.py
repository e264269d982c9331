"""Directories from before tokenizer.json, vocab.json with merges.txt or vocab.txt, as their makers laid them out, and what
transformers' class makes of texts from the same files."""

import json
import pathlib

import gguf
import tokenizers
import tokenizer_files
import transformers
from comparison import SHARED

ENDS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
END_OF_TEXT = "<|endoftext|>"


def write(folder, **files):
    """FOLDER/name.json of every object, FOLDER/name.txt of every list of lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        if isinstance(value, list):
            (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in value), newline="\n")
        else:
            (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def token(content, **more):
    return {"__type": "AddedToken", "content": content, "lstrip": False, "normalized": True, "rstrip": False,
            "single_word": False, **more}  # fmt: skip


def trained(texts, size, pattern=None, ends=()):
    """(vocab, merges) of byte-level BPE, the ends' tokens first."""
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    steps = [tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")] if pattern else []
    made = tokenizer_files.byte_level(texts, tokenizers.pre_tokenizers.Sequence([*steps, level]), size)
    model = json.loads(made.to_str())["model"]
    tokens = [text for text in sorted(model["vocab"], key=model["vocab"].get) if text != END_OF_TEXT]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    return {text: id_ for id_, text in enumerate([*ends, *tokens])}, ["#version: 0.2", *merges]


def gpt2_as_published(folder):
    """The vocabulary is that of the file in ../shared; nothing says the class but config.json."""
    fields = gguf.GGUFReader(SHARED / "models/ggml-vocab-gpt-2.gguf").fields
    read = lambda key: [bytes(fields[key].parts[at]).decode() for at in fields[key].data]  # noqa: E731
    vocab = {text: id_ for id_, text in enumerate(read("tokenizer.ggml.tokens"))}
    return write(folder, vocab=vocab, merges=["#version: 0.2", *read("tokenizer.ggml.merges")],
                 tokenizer_config={"model_max_length": 1024}, config={"model_type": "gpt2"})  # fmt: skip


def byte_level_directories(texts, folder, size=8000):
    """{name: directory}"""
    ends, end = trained(texts, size, ends=ENDS), token("</s>")
    plain, merges = trained(texts, size)
    plain[END_OF_TEXT] = len(plain)
    runs = ["\t" * n for n in range(9, 1, -1)] + [" " * n for n in range(2, 32)]
    pattern = transformers.models.qwen2.tokenization_qwen2.PRETOKENIZE_REGEX
    digits, digit_merges = trained(texts, size, pattern)
    chat = {str(len(digits) + k): {**token(text, normalized=False), "special": k < 3}
            for k, text in enumerate((END_OF_TEXT, "<|im_start|>", "<|im_end|>", "<think>"))}  # fmt: skip
    return {
        "GPT-2 as published": gpt2_as_published(folder / "gpt2"),
        "OPT": write(
            folder / "opt", vocab=ends[0], merges=ends[1], config={"model_type": "opt"},
            tokenizer_config={"errors": "replace", "unk_token": end, "bos_token": end, "eos_token": end,
                              "pad_token": token("<pad>"), "add_prefix_space": False, "add_bos_token": True,
                              "tokenizer_class": "GPT2Tokenizer"},
            special_tokens_map={"bos_token": token("</s>"), "eos_token": token("</s>"), "unk_token": token("</s>"),
                                "pad_token": token("<pad>")}),
        "CodeGen, tokens for runs of spaces": write(
            folder / "codegen", vocab=plain, merges=merges, config={"model_type": "codegen"},
            tokenizer_config={"add_prefix_space": False, "tokenizer_class": "CodeGenTokenizer"},
            added_tokens={text: len(plain) + k for k, text in enumerate(runs)}),
        "GPT-J, a space before the text, a token for padding": write(
            folder / "gptj", vocab=plain, merges=merges, config={"model_type": "gptj"},
            tokenizer_config={"add_prefix_space": True, "pad_token": "<pad>"}),
        "RoBERTa": write(folder / "roberta", vocab=ends[0], merges=ends[1], config={"model_type": "roberta"}),
        "Qwen2": write(
            folder / "qwen2", vocab=digits, merges=digit_merges, config={"model_type": "qwen2"},
            tokenizer_config={"added_tokens_decoder": chat, "bos_token": None, "eos_token": "<|im_end|>",
                              "pad_token": END_OF_TEXT, "unk_token": None, "add_prefix_space": False,
                              "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
                              "tokenizer_class": "Qwen2Tokenizer"}),
    }  # fmt: skip


def word_directories(texts, folder, size=8000):
    words = {}
    for lower in (True, False):
        vocab = json.loads(tokenizer_files.wordpiece(texts, lower, size).to_str())["model"]["vocab"]
        words[lower] = sorted(vocab, key=vocab.get)
    bert = {"model_type": "bert"}
    return {
        "BERT, vocab.txt alone": write(folder / "bert", vocab=words[True], config=bert),
        "BERT, cased": write(folder / "cased", vocab=words[False], config=bert,
                             tokenizer_config={"do_lower_case": False}),
        "DistilBERT, lower case with accents": write(
            folder / "accents", vocab=words[True], config={"model_type": "distilbert"},
            tokenizer_config={"do_lower_case": True, "strip_accents": False, "tokenize_chinese_chars": False,
                              "tokenizer_class": "DistilBertTokenizer"}),
    }  # fmt: skip


def add_rows(rows, texts, folder: pathlib.Path):
    """rows: tokenizer_rows.Rows"""
    for name, path in {**byte_level_directories(texts, folder), **word_directories(texts, folder)}.items():
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        for whole in (False, True):
            theirs = lambda texts, whole=whole: [  # noqa: E731
                tokenizer(text, add_special_tokens=whole).input_ids for text in texts]  # fmt: skip
            rows.add(f"{name}{', whole' if whole else ''}", path, "transformers", theirs, True, bare=not whole,
                     explain=known_departures)  # fmt: skip


def known_departures(differing):
    """RoBERTa: the class of version 5 leaves white space before a mask alone, those before it and the published
    tokenizer.json do not. Whole texts: one that begins with the token that is put first gets no second one from us."""
    return {text for text, (mine, theirs) in differing.items()
            if "<mask>" in text or (mine[0] == theirs[0] and theirs[1:] == mine)}  # fmt: skip
