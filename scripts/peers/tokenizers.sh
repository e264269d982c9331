# peers: python node llama_tokens tokenizers smollm2 transformers
# Token ids against llama.cpp, the tokenizers package and SentencePiece: tokenizer_rows.py, under another name than that
# of the package, which every script beside it would take for the package.
exec "$ROPEWALK_PEERS_PYTHON" "$(dirname "$0")/tokenizer_rows.py" "$@"
