#!/usr/bin/env bash
# Gathers what the compiler needs into one folder, so that it runs where no package index can be
# reached and no virtual environment is made:
#
#     scripts/offline_wheels.sh wheels/py3.12 3.12
#     PYTHONPATH=src:wheels/py3.12 python3.12 -m tilewright.cli.opt FILE
#
# Versions come from pyproject.toml. Only binary wheels are taken, because nothing can be built
# here for another Python.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: scripts/offline_wheels.sh [--extra NAME]... [--slim] [DIR [PYTHON_VERSION]]

  DIR             folder to fill; default wheels/pyPYTHON_VERSION. Must be ignored by git.
  PYTHON_VERSION  of the machine that will use it, as 3.12; default: that of this machine
  --extra NAME    also take an extra of pyproject.toml (cuda, numba, triton, dev); may be repeated
  --slim          remove the packages' own tests and byte code afterwards
  PYTHON          environment variable: the Python whose pip is used (default .venv/bin/python,
                  else python3); 3.11 or later
TEXT
}

die() {
    echo "offline_wheels: $*" >&2
    exit 1
}

extras=()
slim=no
positional=()
while (($#)); do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --extra) (($# > 1)) || die "--extra needs a name"; extras+=("$2"); shift ;;
        --slim) slim=yes ;;
        -*) die "unknown option $1 (see --help)" ;;
        *) positional+=("$1") ;;
    esac
    shift
done
((${#positional[@]} <= 2)) || die "at most DIR and PYTHON_VERSION are expected (see --help)"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ -z ${PYTHON:-} ]]; then
    PYTHON=python3
    [[ -x $root/.venv/bin/python ]] && PYTHON=$root/.venv/bin/python
fi
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "$PYTHON is older than 3.11"

here=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
version=${positional[1]:-$here}
[[ $version =~ ^3\.[0-9]+$ ]] || die "PYTHON_VERSION is '$version'; expected something like 3.12"
dir=${positional[0]:-$root/wheels/py$version}
# git answers 0 for ignored, 1 for not ignored, 128 for a folder outside the checkout.
ignored=0
git -C "$root" check-ignore -q "$(realpath -m "$dir")/x" 2>/dev/null || ignored=$?
((ignored != 1)) || die "$dir is not ignored by git; choose a folder under wheels/"

requirements=$("$PYTHON" - "$root/pyproject.toml" ${extras[@]+"${extras[@]}"} <<'PYTHON'
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]
optional = project["optional-dependencies"]
unknown = [name for name in sys.argv[2:] if name not in optional]
if unknown:
    sys.exit(f"offline_wheels: no extra {', '.join(unknown)}; there are {', '.join(optional)}")
print(*project["dependencies"], *(r for name in sys.argv[2:] for r in optional[name]), sep="\n")
PYTHON
)
mapfile -t requirements <<<"$requirements"

"$PYTHON" -m pip install --disable-pip-version-check --upgrade --no-compile \
    --target "$dir" --python-version "$version" --implementation cp --only-binary=:all: \
    "${requirements[@]}"

if [[ $slim == yes ]]; then
    find "$dir" -depth -type d \( -name tests -o -name __pycache__ \) -exec rm -rf {} +
fi
echo "$dir: $(du -sh "$dir" | cut -f1) for Python $version"
