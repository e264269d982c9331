#!/usr/bin/env bash
# Stretches the bundled model, trained at 256 tokens, to 4096 on text it has never seen: measures, recommends, and writes
# a model file that llama.cpp runs. Does all set-up on a bare Debian; results go to build/demo.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/build.sh"
install_packages demo

demo="$root/build/demo"
mkdir -p "$demo"
cd "$root"
say "the text: books of the King James Version that were held out of the training"
python3 tools/kjv_text.py Acts >"$demo/acts.txt"
python3 tools/kjv_text.py Eze >"$demo/ezekiel.txt"

say "stretching models/ropewalk-kjv-1m.gguf from 256 to 4096 tokens"
build/release/bin/ropewalk extend models/ropewalk-kjv-1m.gguf --to 4096 \
  --text "$demo/acts.txt" "$demo/ezekiel.txt" --windows 4 --copy-windows 2 \
  -o "$demo/ropewalk-kjv-1m-4096.gguf" "$@"
