#!/usr/bin/env bash
# Runs clang-tidy over the sources of the release build: lint.sh [file...]. Slow, so not one of the tests.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages lint
"$root/scripts/build.sh" release

cd "$root"
if [ $# -eq 0 ]; then mapfile -t files < <(git ls-files 'ropewalk/*.cc' 'cli/*.cc'); else files=("$@"); fi
say "clang-tidy over ${#files[@]} files"
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" \
  clang-tidy -p build/release --quiet 2> >(grep -v "warnings generated" >&2)
