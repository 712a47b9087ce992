# Sourced by the scripts beside it: the checkout, its packages, its builds.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 2; }

# missing_packages GROUP…: those of scripts/packages.txt in these groups that are not installed.
missing_packages() {
    local name group
    while read -r name group; do
        [[ " $* " == *" $group "* ]] || continue
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || printf '%s\n' "$name"
    done < <(grep -v '^#' "$root/scripts/packages.txt")
}

# ensure_packages GROUP…: installs what is missing as root or with sudo; else names it and exits with 2.
ensure_packages() {
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian system: the packages of scripts/packages.txt are taken for installed"
        return
    fi
    local missing sudo=()
    mapfile -t missing < <(missing_packages "$@")
    [[ ${#missing[@]} -gt 0 ]] || return 0
    if [[ $(id -u) -ne 0 ]]; then
        if ! command -v sudo >/dev/null || ! { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
            printf 'error: packages are missing, and this user may not install them. As root:\n' >&2
            printf '  apt-get update && apt-get install --no-install-recommends %s\n' "${missing[*]}" >&2
            exit 2
        fi
        sudo=(sudo)
    fi
    say "installing ${missing[*]}"
    "${sudo[@]}" apt-get update -q >&2 || say "apt-get update failed, trying with the lists at hand"
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "${missing[@]}" >&2 || die "could not install ${missing[*]}"
}

# build PRESET [TARGET…]: configures and builds below build/PRESET.
build() {
    local preset=$1 log
    shift
    log=$root/build/$preset/configure.log
    mkdir -p "$(dirname "$log")"
    say "building preset $preset with $jobs jobs"
    (cd "$root" && cmake --preset "$preset" >"$log" 2>&1) || { cat "$log" >&2; die "cmake --preset $preset failed"; }
    (cd "$root" && cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}) >&2 ||
        die "the build of preset $preset failed"
}
