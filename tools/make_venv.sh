#!/usr/bin/env bash
# Make a virtual environment: make_venv.sh FOLDER [PYTHON]
# Without PYTHON, takes the first of the usual names that starts and is new enough (a shim may exist and not start).
set -euo pipefail

folder=$1
wanted=${2:-}
new_enough='import sys; sys.exit(sys.version_info < (3, 10))'

find_python() {
    for name in ${wanted:-python3.11 python3.12 python3.13 python3.10 python3}; do
        if "$name" -c "$new_enough" 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    echo "vlassess needs Python 3.10 or newer, and ${wanted:-python3} is none that starts." \
        "Install one and name it: make TARGET PYTHON=/path/to/python3.11" >&2
    exit 2
}

python=$(find_python)
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    package=$("$python" -c 'import sys; print("python{}.{}-venv".format(*sys.version_info))')
    if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends "$package"
    else
        echo "$python has no venv module. Install it: sudo apt-get install -y $package" >&2
        exit 2
    fi
fi
"$python" -m venv --clear "$folder"
