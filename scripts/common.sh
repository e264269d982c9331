# Shared by the scripts beside it; sourced, not run.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs="$root/build/logs"
mkdir -p "$logs"

say() { printf '%s\n' "== $*"; }

# run_logged <log name> <command...>: output goes to the log; its first errors and its end are shown if it fails.
run_logged() {
  local log="$logs/$1.log"
  shift
  if ! "$@" >"$log" 2>&1; then
    say "FAILED: $*"
    grep -E '(error|Error|FAILED)( in |: )' "$log" | head -n 20 || true
    say "the end of ${log#"$root"/}:"
    tail -n 40 "$log"
    return 1
  fi
}

# install_packages <user>: those of packages.txt that everybody or <user> needs, if any is missing.
install_packages() {
  local wanted missing as_root=()
  mapfile -t wanted < <(awk -v user="$1" '!/^#/ && NF && (NF == 1 || $2 == user) {print $1}' "$root/scripts/packages.txt")
  mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}" | sort) <(installed "${wanted[@]}" | sort))
  if [ ${#missing[@]} -eq 0 ]; then return; fi

  say "installing from Debian: ${missing[*]}"
  if ! command -v apt-get >/dev/null; then
    say "FAILED: no apt-get here; install these packages' equivalents by hand"
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "FAILED: neither root nor sudo; ask for: apt-get install ${missing[*]}"
      return 1
    fi
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -y)
  run_logged packages-update "${apt[@]}" update
  run_logged packages-install "${apt[@]}" install --no-install-recommends "${missing[@]}"
}

installed() {
  if ! command -v dpkg-query >/dev/null; then return; fi
  dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | awk '$2 == "installed" {print $1}' || true
}

# fetch_vega: what the report's page draws with, to build/npm, pinned by package-lock.json. Without it everything builds,
# and pages have words and tables but no pictures; so no failure stops a build.
fetch_vega() {
  local lock="$root/ropewalk/report/npm/package-lock.json" modules="$root/build/npm"
  if cmp -s "$lock" "$modules/fetched.json"; then return; fi
  if ! command -v npm >/dev/null; then
    install_packages page || true
    hash -r
  fi
  if command -v npm >/dev/null; then
    say "fetching Vega from npm"
    mkdir -p "$modules"
    cp "$root"/ropewalk/report/npm/package*.json "$modules"
    if (cd "$modules" && run_logged npm npm ci --ignore-scripts --no-audit --no-fund --fetch-retries 1); then
      cp "$lock" "$modules/fetched.json"
      return
    fi
  fi
  say "no Vega: reports will have no pictures. Install Node.js and npm, let it reach registry.npmjs.org, and run this again;"
  say "or point -DROPEWALK_NPM_DIR at a folder where \"npm ci\" has run on ropewalk/report/npm"
}

# The preset named by the first argument, or release.
preset_argument() {
  local preset=${1:-release}
  if ! grep -q "\"configurePreset\": \"$preset\"" "$root/CMakePresets.json"; then
    say "no preset named '$preset' in CMakePresets.json" >&2
    return 2
  fi
  printf '%s\n' "$preset"
}
