// SPDX-License-Identifier: Apache-2.0
// Of a build without CUDA.
#include "kernels/device.h"

namespace ingot {

DeviceList list_devices() {
  return {{}, "this program was built without CUDA"};
}

Result<std::shared_ptr<Device>> open_device(int /*index*/) {
  return Status::unsupported("this program was built without CUDA; build it where nvcc is found");
}

}  // namespace ingot
