# Sourced by the scripts beside it: where things are, and how they speak.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dev=$root/tools/dev
venv=$root/.venv

say() { printf '== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# GCC collects its garbage at 1 GB first: a tenth less time for what large files compile to.
lateCollection="--param ggc-min-expand=1000 --param ggc-min-heapsize=1000000"

onnxVersion=$(sed -n 's/^onnx==//p' "$dev/requirements.txt")
onnxRecipe=2 # raise it when build-onnx builds in another way

# Where ONNX's C++ library is installed. Clones share it; another compiler or protobuf needs another build.
onnxRoot() {
  local cache=${SHARDC_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/shardc}
  local cxx=${CXX:-c++} compiler protobuf
  compiler=$($cxx -dumpmachine)-$($cxx -dumpversion) || return
  protobuf=$(pkg-config --modversion protobuf) || return
  printf '%s\n' "$cache/onnx-$onnxVersion-$compiler-protobuf-$protobuf-r$onnxRecipe"
}
