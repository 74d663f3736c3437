// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include "cli/app.h"
#include "cli/output.h"

int main(int argc, char** argv) {
  // Our code throws nothing; this is for what a library or a failed allocation still may.
  try {
    ingot::prepare_standard_streams();
    return ingot::CommandLine().run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("ingot: out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ingot: %s\n", error.what());
  }
  return 1;
}
