// SPDX-License-Identifier: Apache-2.0
#include "api/device_choice.h"

#include <gtest/gtest.h>

#include "ingot/engine.h"

namespace ingot {
namespace {

TEST(DeviceChoice, TheProcessorIsNoDevice) {
  for (const char* kernels : {"", "auto", "reference"}) {
    const Result<std::shared_ptr<Device>> device = find_device("cpu", kernels);
    ASSERT_TRUE(device.is_ok());
    EXPECT_EQ(*device, nullptr);
  }
}

TEST(DeviceChoice, AutoTakesAGpuWhereThereIsOne) {
  const bool has_gpu = !list_devices().devices.empty();
  for (const char* kernels : {"", "auto"})
    EXPECT_EQ(*find_device("auto", kernels) != nullptr, has_gpu);
  EXPECT_EQ(*find_device("auto", "reference"), nullptr);
}

TEST(DeviceChoice, RefusesOtherNames) {
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "CPU"}) {
    const Status status = find_device(name, "auto").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_NE(status.message().find("cuda:N"), std::string::npos) << status.message();
  }
}

TEST(DeviceChoice, AGpuThatIsNotThereIsAnError) {
  EXPECT_FALSE(find_device("cuda:9999", "auto").is_ok());
}

// Before the model is looked for.
TEST(DeviceChoice, TheLibraryTakesTheSameNames) {
  LoadOptions options;
  options.model = "/no/such/model.gguf";
  options.device = "gpu";
  EXPECT_NE(TextEngine::load(options).status().message().find("'gpu'"), std::string::npos);
  options.device = "cpu";
  EXPECT_EQ(TextEngine::load(options).status().code(), StatusCode::kNotFound);
  options.gpu_layers = -2;
  EXPECT_NE(TextEngine::load(options).status().message().find("gpu_layers"), std::string::npos);
}

}  // namespace
}  // namespace ingot
