// SPDX-License-Identifier: Apache-2.0
#include "api/device_choice.h"

#include <charconv>

namespace ingot {

Result<std::shared_ptr<Device>> find_device(std::string_view name, std::string_view kernels) {
  if (name == "cpu") return std::shared_ptr<Device>();
  if (name == "auto") {
    const bool is_for_processor = !kernels.empty() && kernels != "auto";
    if (is_for_processor || list_devices().devices.empty()) return std::shared_ptr<Device>();
    return open_device(0);
  }
  if (name == "cuda") return open_device(0);
  constexpr std::string_view kPrefix = "cuda:";
  int index = -1;
  if (name.starts_with(kPrefix)) {
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, index);
    if (error != std::errc() || rest != end) index = -1;
  }
  if (index >= 0) return open_device(index);
  return Status::invalid_argument("the device '{}' is not one of auto, cpu, cuda and cuda:N", name);
}

}  // namespace ingot
