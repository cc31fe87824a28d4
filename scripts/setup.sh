#!/bin/sh
# Makes the environment that `make` runs in. Every check comes before the first download; a failure is one line with the command that
# helps. POSIX sh, so that the messages also reach a machine whose Python is too old or absent.
#
# usage, from the checkout: sh scripts/setup.sh ENVIRONMENT      (.venv, or the folder of a conda environment)
# reads: PROFILE (its free_space_bytes), PYTHON (the interpreter to use), TIERWISE_WORK (where a run keeps its data)
set -eu

environment=$1
environment_bytes=2000000000 # measured: 1.7 GB on disk, and the downloads while they are unpacked
profile=${PROFILE:-quick}

stop() {
    printf 'tierwise: %s\n' "$*" >&2
    exit 1
}

check_system() {
    system=$(uname -s) machine=$(uname -m) release=$(uname -r)
    case $system in
    Linux) ;;
    Darwin) stop "macOS is not supported, it has no FUSE of the kernel's own. Use a Linux machine: multipass launch --name tierwise --disk 20G" ;;
    *) stop "$system is not supported. Use Linux, under Windows WSL2: wsl --install" ;;
    esac
    case $machine in
    x86_64 | aarch64) ;;
    *) stop "the processor is $machine, supported are x86_64 and aarch64. Take the checkout to one: rsync -a ./ USER@MACHINE:tierwise/" ;;
    esac
    case $release in
    *WSL2*)
        case $PWD in
        /mnt/[a-z]/*) stop "this folder is on the Windows disk. Copy it into WSL's own file system: cp -r . ~/tierwise && cd ~/tierwise" ;;
        esac
        ;;
    *-Microsoft) stop "WSL1 has no FUSE. Change to WSL2, in Windows: wsl --set-version ${WSL_DISTRO_NAME:-Ubuntu} 2" ;;
    esac
}

profile_bytes() {
    sed -n 's/^free_space_bytes *= *\([0-9_.e+]*\).*/\1/p' "data/profiles/$1.toml" | tr -d _ | awk '{ printf "%.0f", $1 }'
}

gigabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f GB", bytes / 1e9 }'; }

free_bytes() { df --output=avail -B1 "$1" | tail -n 1 | tr -d ' '; }

check_space() {
    [ -f "data/profiles/$profile.toml" ] ||
        stop "there is no profile '$profile'. Name one of $(cd data/profiles && echo *.toml | sed 's/\.toml//g'): make report PROFILE=quick"
    here=$(profile_bytes "$profile") work=${TIERWISE_WORK:-.}
    while [ ! -e "$work" ]; do work=$(dirname "$work"); done
    if [ "$(stat -c %d "$work")" != "$(stat -c %d .)" ]; then
        [ "$(free_bytes "$work")" -ge "$here" ] ||
            stop "profile $profile needs $(gigabytes "$here") free in TIERWISE_WORK, $(gigabytes "$(free_bytes "$work")") are." \
                "Name a larger disk: make report TIERWISE_WORK=/FOLDER/ON/ANOTHER/DISK"
        here=0
    fi
    [ -e "$environment/.ready" ] || here=$((here + environment_bytes))
    free=$(free_bytes .)
    [ "$free" -ge "$here" ] && return
    remedy="Clone it on a larger one: git clone . /FOLDER/ON/ANOTHER/DISK/tierwise"
    [ "$free" -lt $((environment_bytes + $(profile_bytes smoke))) ] || remedy="Free some, or begin smaller: make report PROFILE=smoke"
    stop "profile $profile and its environment need $(gigabytes "$here") free on this disk, $(gigabytes "$free") are. $remedy"
}

as_root() { [ "$(id -u)" -eq 0 ] && echo "$*" || echo "sudo $*"; }

recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# Prints the first Python that is recent enough and can make an environment.
find_python() {
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3.14 python3.13 python3.12 python3.11 python3; fi
    bare=
    for python; do
        recent "$python" || continue
        "$python" -c 'import venv, ensurepip' 2>/dev/null && echo "$python" && return
        bare=${bare:-$python}
    done
    [ -z "$bare" ] || stop "$bare has no venv module. Install it: $(as_root "apt-get install $("$bare" -c \
        'import sys; print("python%d.%d-venv" % sys.version_info[:2])')")"
    [ -z "${PYTHON:-}" ] || stop "PYTHON=$PYTHON is no Python >= 3.11. Let it be found: make report PYTHON="
    for version in 3.14 3.13 3.12 3.11; do
        apt-cache show "python$version-venv" >/dev/null 2>&1 || continue
        stop "there is no Python >= 3.11 on PATH. Install one: $(as_root apt-get install "python$version" "python$version-venv")"
    done
    stop "there is no Python >= 3.11 on PATH. Take one from conda-forge: conda env create -f environment.yml && conda activate tierwise"
}

# A half-made environment, a moved one, or one whose Python is gone or too old is made again; one in order is brought up to date.
make_environment() {
    if [ -e .venv ] && [ ! -e .venv/.unfinished ] && recent .venv/bin/python &&
        { [ ! -e .venv/.ready ] || [ "$(cat .venv/.ready)" = "$(pwd -P)" ]; }; then
        return
    fi
    python=$(find_python)
    rm -rf .venv
    mkdir .venv
    touch .venv/.unfinished
    "$python" -m venv .venv >.venv/setup.log 2>&1 || return 0 # the check for pip reports what it lacks
}

check_system
check_space
[ "$environment" != .venv ] || make_environment
touch "$environment/.unfinished"
"$environment/bin/python" -m pip --version >/dev/null 2>&1 || case $environment in
.venv) stop "Python could not put pip into .venv. Install what it lacks: $(as_root apt-get install --reinstall python3-pip-whl python3-venv)" ;;
*) stop "the conda environment has no pip. Install it: conda install pip" ;;
esac
PYTHONPATH=src "$environment/bin/python" scripts/setup_install.py "$environment"
command -v quarto >/dev/null || PYTHONPATH=src "$environment/bin/python" scripts/setup_quarto.py "$environment" --once
pwd -P >"$environment/.ready"
rm "$environment/.unfinished"
