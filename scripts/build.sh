# Sourced by quickstart, test and check.
# shellcheck shell=bash

# Sets `preset`: cuda-dev where the CUDA toolkit is new enough, else cpu.
choose_preset() {
  preset=cpu
  local nvcc
  for nvcc in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    [ -n "$nvcc" ] && [ -x "$nvcc" ] || continue
    if "$nvcc" --version | grep -Eq 'release (1[3-9]|[2-9][0-9])\.'; then
      preset=cuda-dev
      export CUDACXX=$nvcc
    else
      echo "build: $nvcc is older than CUDA 13.0; building without CUDA"
    fi
    return
  done
}

# configure PRESET [CMake options…]; its output is shown only when it fails.
configure() {
  local log=build/$1/configure.log
  mkdir -p "build/$1"
  if ! cmake --preset "$@" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
}

minutes_since() { awk -v from="$1" -v to="$(date +%s)" 'BEGIN { printf "%.1f", (to - from) / 60 }'; }
