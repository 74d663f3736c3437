// SPDX-License-Identifier: Apache-2.0
// How --help looks: what a flag takes in one word, and no list of what its checks accept (the
// descriptions say that).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ingot {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
};

}  // namespace ingot
