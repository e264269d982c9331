#!/usr/bin/env bash
# Checks the layout of all tracked C++ files against .clang-format; format.sh --fix rewrites them instead.
# Exits with 77, which ctest takes for a skip, where clang-format is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v clang-format >/dev/null; then
  echo "SKIPPED: clang-format is not installed"
  exit 77
fi
if git rev-parse --git-dir >/dev/null 2>&1; then
  mapfile -t files < <(git ls-files -- '*.h' '*.cc')
else
  mapfile -t files < <(find . -path ./build -prune -o \( -name '*.h' -o -name '*.cc' \) -print)
fi
mapfile -t files < <(for file in "${files[@]}"; do [ ! -e "$file" ] || echo "$file"; done)
if [ ${#files[@]} -eq 0 ]; then exit 0; fi

if [ "${1:-}" = --fix ]; then exec clang-format -i --style=file "${files[@]}"; fi

if ! complaints=$(clang-format --dry-run -Werror --style=file "${files[@]}" 2>&1); then
  grep -oE '^[^ :]+:[0-9]+' <<<"$complaints" | sort -uV || printf '%s\n' "$complaints"
  echo "not laid out as .clang-format says ($(clang-format --version)); mend with scripts/format.sh --fix"
  exit 1
fi
