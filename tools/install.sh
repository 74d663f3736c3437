#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh [--tests|--neon]: the Debian packages that building needs; with --tests also a Python
# virtual environment for the end-to-end tests and Prometheus' promtool in build/tools; with either
# also a compiler for ARM and an emulator, without which the tests of the NEON kernels are skipped.
# Does nothing, quickly, when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build ccache mold
  nlohmann-json3-dev libfmt-dev libcli11-dev libpcre2-dev libutf8proc-dev
  libboost1.81-dev libssl-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  clang libclang-rt-14-dev clang-format clang-tidy
  python3 python3-venv xz-utils openssl
)
neon_packages=(g++-aarch64-linux-gnu qemu-user)

if [ "${1:-}" = --tests ]; then
  packages+=(chromium)  # which the tests of the page drive
fi

missing_packages() {
  local package
  for package in "$@"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      echo "$package"
    fi
  done
}

install_packages() {
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "install: not a Debian system; please install the equivalents of: $*" >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  if [ "${#missing[@]}" -eq 0 ]; then
    return 0
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "install: missing packages and no sudo; run as root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  echo "install: installing Debian packages: ${missing[*]}"
  if apt-cache policy "${missing[@]}" 2>/dev/null | grep -q 'Candidate: [^(]' &&
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
    return 0
  fi
  echo "install: refreshing the package lists first"
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

install_python() {
  local wanted
  wanted=$(sha256sum tools/requirements.txt | cut -d ' ' -f 1)
  if [ -x .venv/bin/python ] && [ "$(cat .venv/requirements.sha256 2>/dev/null)" = "$wanted" ]; then
    return 0
  fi
  echo "install: making .venv with the Python packages of tools/requirements.txt"
  python3 -m venv --clear .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r tools/requirements.txt
  echo "$wanted" >.venv/requirements.sha256
}

# Unpacked, not installed: the package would start a daemon.
install_promtool() {
  local folder=build/tools/prometheus
  if [ -x build/tools/promtool ]; then
    return 0
  fi
  if ! command -v apt-get >/dev/null; then
    echo "install: not a Debian system; please put promtool into build/tools" >&2
    return 0
  fi
  echo "install: unpacking promtool of the Debian package prometheus into build/tools"
  rm -rf "$folder"
  mkdir -p "$folder"
  (cd "$folder" && apt-get download -qq prometheus >/dev/null 2>&1) || {
    echo "install: cannot download the package prometheus; tests with promtool will be skipped" >&2
    return 0
  }
  dpkg --fsys-tarfile "$folder"/prometheus_*.deb | tar -x -C "$folder" ./usr/bin/promtool
  mv "$folder/usr/bin/promtool" build/tools/promtool
  rm -rf "$folder"
}

install_packages "${packages[@]}"
if [ -n "${1:-}" ] && [ "$(uname -m)" != aarch64 ] && ! install_packages "${neon_packages[@]}"; then
  echo "install: cannot install ${neon_packages[*]}; tests of the NEON kernels will be skipped" >&2
fi
if [ "${1:-}" = --tests ]; then
  install_python
  install_promtool
fi
