# SPDX-License-Identifier: Apache-2.0
# Everything a newcomer types. Each target installs what it misses (tools/install.sh says what).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MODEL ?= default
ARGS ?=
SECONDS_PER_FUZZER ?= 300
GPUS ?= 80-real;80-virtual;89-real;90a-real

.PHONY: help serve run build test test-neon soak bench fuzz asan tsan lint format clean install

help:  ## This list
	@echo "ingot: run language models from their files"
	@echo
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /|/' | awk -F'|' '{printf "  make %-9s %s\n", $$1, $$2}'
	@echo
	@echo "  Variables: MODEL=path and ARGS=\"--temp 0.7\" for serve and run, SINCE=branch for lint,"
	@echo "  SECONDS_PER_FUZZER=300 for fuzz, GPUS=90a-real to build for fewer GPUs."

install:
	@tools/install.sh

build: install  ## Build the program: build/release/ingot
	@cmake --preset release --log-level=WARNING --no-warn-unused-cli "-DCMAKE_CUDA_ARCHITECTURES=$(GPUS)" >/dev/null
	@ninja -C build/release ingot
	@echo "built build/release/ingot"

serve: build  ## Serve the default model (or MODEL=path) with its web page on http://127.0.0.1:8080
	@build/release/ingot serve $(MODEL) $(ARGS)

run: build  ## Chat with the default model (or MODEL=path)
	@build/release/ingot run $(MODEL) $(ARGS)

test:  ## Build and run all tests: release, sanitizers, fuzzers, NEON, end to end
	@tools/install.sh --tests
	@tools/run_tests.py

test-neon:  ## Build the kernels for 64-bit ARM and run their tests under qemu
	@tools/install.sh --neon
	@tools/run_tests.py "NEON under qemu"

soak: build  ## The long forms of the reliability figures, about an hour (docs/reliability.md)
	@tools/install.sh --tests
	@.venv/bin/python tests/reliability/scoreboard.py --long

bench: build  ## Measure the kernels of this machine (ingot bench has more)
	@build/release/ingot bench kernels $(ARGS)

fuzz: install  ## Fuzz every parser, SECONDS_PER_FUZZER each
	@cmake --preset asan --log-level=WARNING >/dev/null
	@ninja -C build/asan
	@for fuzzer in build/asan/fuzz/fuzz_*; do \
	  if [ -x "$$fuzzer" ] && [ ! -d "$$fuzzer" ]; then \
	    echo "== $$fuzzer"; tools/fuzz.sh "$$fuzzer" $(SECONDS_PER_FUZZER); fi; \
	done

asan: install  ## Unit tests under the address and undefined-behaviour sanitizers
	@cmake --preset asan --log-level=WARNING >/dev/null
	@ninja -C build/asan
	@ctest --test-dir build/asan --output-on-failure -LE fuzz

tsan: install  ## Unit tests under the thread sanitizer
	@cmake --preset tsan --log-level=WARNING >/dev/null
	@ninja -C build/tsan
	@ctest --test-dir build/tsan --output-on-failure -L fast

lint: install  ## clang-format, clang-tidy and the layers check (SINCE=branch: changed files only)
	@cmake --preset release -B build/lint -DINGOT_UNITY=OFF --log-level=WARNING >/dev/null
	@tools/lint.sh "$(SINCE)"

format: install  ## Rewrite our sources in the house format
	@git ls-files -- '*.cc' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

clean:  ## Remove everything that was built
	@rm -rf build
	@echo "removed build/ (.venv/ stays)"
