"""Vocabularies made for the comparison of tokenizers: trained small ones, and GGUF files that hold a given one."""

import json
import pathlib

import gguf
import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"


# ---- tokenizer.json


def save(tokenizer, folder, change=None):
    """As FOLDER/tokenizer.json; change: what to do with the document first."""
    folder.mkdir(parents=True, exist_ok=True)
    document = json.loads(tokenizer.to_str())
    if change:
        change(document)
    (folder / "tokenizer.json").write_text(json.dumps(document))
    return folder / "tokenizer.json"


def byte_level(texts, pre_tokenizer, size):
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=size, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet)
    )
    return tokenizer


def plain_byte_tokens(document):
    """Trained as special tokens, which a model's own files do not have them as."""
    document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] not in BYTES]


def characters(texts, legacy, size):
    """As Llama 2's, before and after transformers' legacy=False."""
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    special = ["<unk>", "<s>", "</s>"]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, special_tokens=special + BYTES))
    if legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tokenizer.pre_tokenizer = None
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def unigram(texts, normalizer, fallback, size):
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"] + (BYTES if fallback else [])
    tokenizer.train_from_iterator(
        texts, trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>")
    )
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def wordpiece(texts, lowercase, size):
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=size, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def suffixed(texts, size):
    """As the first GPT's, and CLIP's."""
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.BPEDecoder()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>"], end_of_word_suffix="</w>")
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def with_added(tokenizer):
    """Added tokens of every kind."""
    added = (
        tokenizers.AddedToken("<mask>", lstrip=True, special=True),
        tokenizers.AddedToken("<think>", rstrip=True, lstrip=True, normalized=False),
        tokenizers.AddedToken("the", single_word=True, normalized=True),
        tokenizers.AddedToken("Σίσυφος", normalized=True),
        tokenizers.AddedToken("<|user|>", normalized=False),
    )
    tokenizer.add_tokens([token for token in added if not token.special])
    tokenizer.add_special_tokens([token for token in added if token.special])
    return tokenizer


def trained_json(texts, folder, size, charsmap=None):
    """[(name, tokenizer.json)]; charsmap: SentencePiece's, of NMT and NFKC."""
    level = pre_tokenizers.ByteLevel
    split = pre_tokenizers.Split
    chain = pre_tokenizers.Sequence
    spaces = normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    nmt = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    roberta = byte_level(texts, level(add_prefix_space=True), size)
    roberta.post_processor = processors.RobertaProcessing(("<|endoftext|>", 0), ("<|endoftext|>", 0))
    accents = wordpiece(texts, True, size)
    accents.normalizer = normalizers.Sequence(
        [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    made = {
        "byte-level": (with_added(byte_level(texts, level(add_prefix_space=False), size)), None),
        "RoBERTa": (roberta, None),
        "StarCoder": (
            byte_level(texts, chain([pre_tokenizers.Digits(True), level(add_prefix_space=False)]), size), None),
        "Falcon": (byte_level(texts, chain([
            pre_tokenizers.Punctuation("contiguous"), level(add_prefix_space=False), pre_tokenizers.Digits(False),
            split(tokenizers.Regex("[0-9][0-9][0-9]"), "isolated")]), size), None),
        "BLOOM": (byte_level(texts, chain([
            split(tokenizers.Regex(BLOOM), "isolated"), level(add_prefix_space=False, use_regex=False)]), size), None),
        "Llama, legacy": (characters(texts, True, size), plain_byte_tokens),
        "Llama": (with_added(characters(texts, False, size)), plain_byte_tokens),
        "T5": (with_added(unigram(texts, nmt, False, size)), None),
        "unigram with bytes": (unigram(texts, normalizers.NFKC(), True, size), plain_byte_tokens),
        "BERT, lower case": (wordpiece(texts, True, size), None),
        "BERT, cased": (with_added(wordpiece(texts, False, size)), None),
        "WordPiece, accents": (accents, None),
        "GPT, CLIP": (suffixed(texts, size), None),
    }  # fmt: skip
    if charsmap:
        mapped = normalizers.Sequence([normalizers.Precompiled(charsmap), spaces])
        made["XLM-R"] = (unigram(texts, mapped, False, size), None)
    return [(f"trained: {name}", save(tokenizer, folder / f"json{i}", change))
            for i, (name, (tokenizer, change)) in enumerate(made.items())]  # fmt: skip


# ---- tokenizer.model


def trained_models(texts, folder):
    """[(name, tokenizer.model)]"""
    kinds = {
        "unigram, NMT": dict(model_type="unigram", character_coverage=0.98),
        "BPE, bytes": dict(
            model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False
        ),
        "BPE, NMT": dict(model_type="bpe"),
        "BPE, no prefix": dict(
            model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
            add_dummy_prefix=False, split_digits=True, user_defined_symbols=["<think>", "▁▁"]),
    }  # fmt: skip
    made = []
    for i, (name, options) in enumerate(kinds.items()):
        path = folder / f"model{i}" / "tokenizer.model"
        path.parent.mkdir(parents=True, exist_ok=True)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_prefix=str(path.with_suffix("")), vocab_size=9000, minloglevel=2,
            hard_vocab_limit=False, **options)  # fmt: skip
        made.append((f"SentencePiece: {name}", path))
    return made


def message(path):
    return sentencepiece_model_pb2.ModelProto.FromString(pathlib.Path(path).read_bytes())


# ---- GGUF


def write_gguf(path, model, pre, tokens, types, merges=None, scores=None, more=None):
    """A file with a vocabulary and nothing else. more: called with the writer."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    if pre:
        writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if scores is not None:
        writer.add_token_scores(scores)
    if merges is not None:
        writer.add_token_merges(merges)
    if more:
        more(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def bpe_parts(json_path):
    """(tokens, types, merges) of a tokenizer.json with a BPE model."""
    document = json.loads(pathlib.Path(json_path).read_text())
    spelled = {id_: token for token, id_ in document["model"]["vocab"].items()}
    added = {token["id"]: token for token in document["added_tokens"]}
    tokens, types = [], []
    for id_ in range(max(spelled | added) + 1):
        token = added.get(id_, {}).get("content", spelled.get(id_))
        tokens.append(f"[unused {id_}]" if token is None else token)
        own = BYTE if token in BYTES else UNUSED if token is None else NORMAL
        types.append((CONTROL if added[id_]["special"] else USER_DEFINED) if id_ in added else own)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in document["model"]["merges"]]
    return tokens, types, merges


def gguf_of_bpe(json_path, path, pre, model="gpt2"):
    tokens, types, merges = bpe_parts(json_path)
    return write_gguf(path, model, pre, tokens, types, merges=merges)


def gguf_of_sentencepiece(model_path, path):
    proto = message(model_path)
    unigram_ = proto.trainer_spec.model_type == 1

    def more(writer):
        writer.add_add_space_prefix(proto.normalizer_spec.add_dummy_prefix)
        writer.add_remove_extra_whitespaces(proto.normalizer_spec.remove_extra_whitespaces)
        writer.add_unk_token_id(proto.trainer_spec.unk_id)
        writer.add_bos_token_id(proto.trainer_spec.bos_id)
        writer.add_eos_token_id(proto.trainer_spec.eos_id)
        if proto.normalizer_spec.precompiled_charsmap:
            writer.add_precompiled_charsmap(proto.normalizer_spec.precompiled_charsmap)

    return write_gguf(
        path, "t5" if unigram_ else "llama", "default", [piece.piece for piece in proto.pieces],
        [piece.type for piece in proto.pieces], scores=[piece.score for piece in proto.pieces], more=more)  # fmt: skip


def gguf_of_wordpiece(json_path, path, lowercase):
    document = json.loads(pathlib.Path(json_path).read_text())
    vocab = document["model"]["vocab"]
    special = {token["content"] for token in document["added_tokens"] if token["special"]}
    spell = lambda token: token if token in special else token[2:] if token.startswith("##") else "▁" + token  # noqa: E731
    ordered = sorted((token for token in vocab), key=vocab.get)

    def more(writer):
        writer.add_bos_token_id(vocab["[CLS]"])
        writer.add_unk_token_id(vocab["[UNK]"])
        writer.add_sep_token_id(vocab["[SEP]"])
        writer.add_bool("tokenizer.ggml.normalizer.lowercase", lowercase)

    types = [CONTROL if token in special else NORMAL for token in ordered]
    return write_gguf(path, "bert", "default", [spell(token) for token in ordered], types, more=more)
