# SPDX-License-Identifier: Apache-2.0
# Builds for 64-bit ARM elsewhere (Debian: g++-aarch64-linux-gnu); tests run under qemu-user. The
# environment's QEMU_CPU says which processor it plays; without it, one that has everything.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
