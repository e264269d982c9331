#!/usr/bin/env bash
# Installs what is missing and builds: build.sh [preset]; the preset is release unless named.
# Programs go to build/<preset>/bin, logs to build/logs. Run it again at any time: it goes on from what is there.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=$(preset_argument "$@")
install_packages "$preset"
if [ "$preset" != fuzz ]; then fetch_vega; fi

werror=OFF
if [ "${CI:-}" = true ]; then werror=ON; fi

# Paths below the project are cached relative to it, so that another clone finds what this one compiled.
export CCACHE_BASEDIR="$root"

cd "$root"
say "configuring $preset"
run_logged "configure-$preset" cmake --preset "$preset" -DROPEWALK_WERROR="$werror"
say "building $preset"
run_logged "build-$preset" cmake --build --preset "$preset" --parallel "$(nproc)"
say "built: build/$preset/bin"
