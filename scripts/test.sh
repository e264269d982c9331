#!/usr/bin/env bash
# Builds and runs all tests: test.sh [preset] [ctest argument...], as in: test.sh release -R math
# Tests that need the folder shared between the project's machines look for it in ROPEWALK_SHARED, or beside
# this project's folder; without it they are skipped, and the summary says so.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=$(preset_argument "$@")
"$root/scripts/build.sh" "$preset"

if [ -z "${ROPEWALK_SHARED:-}" ] && [ -d "$root/../shared" ]; then
  ROPEWALK_SHARED=$(cd "$root/../shared" && pwd)
  export ROPEWALK_SHARED
fi

# Tests run side by side: threads that wait must not spin on the cores of those that work.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

say "testing $preset"
cd "$root/build/$preset"
exec python3 "$root/scripts/run_ctest.py" --parallel 2 "${@:2}"
