// SPDX-License-Identifier: Apache-2.0
// Inputs that are rounded as a checkpoint says: packed together with the op that makes them, or by
// themselves, they are the same bits; and they are the processor's numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/fused_inputs.h"
#include "kernels/cuda/inputs.h"
#include "kernels/cuda/test_device.h"
#include "kernels/elementwise_kind.h"
#include "kernels/input_rounding.h"
#include "kernels/test_random.h"

namespace ingot::cuda {
namespace {

using Kind = PackedRows::Kind;

struct Form {
  const char* name;
  Kind kind;
  InputQuant quant;
  bool has_spans;
};
const Form kForms[] = {
    {"e4m3 numbers", Kind::kE4m3AsF16, {.kind = InputKind::kE4m3}, false},
    {"e4m3 numbers, in spans", Kind::kE4m3AsF16, {.kind = InputKind::kE4m3}, true},
    {"e4m3 numbers, given scale",
     Kind::kE4m3AsF16,
     {.kind = InputKind::kE4m3, .scale = 0.01F},
     false},
    {"e4m3 numbers, small given scale",
     Kind::kE4m3AsF16,
     {.kind = InputKind::kE4m3, .scale = 1e-35F},
     false},
    {"e4m3 numbers in blocks", Kind::kE4m3AsF16, {.kind = InputKind::kE4m3, .block = 128}, true},
    {"e4m3 numbers, limited powers",
     Kind::kE4m3AsF16,
     {.kind = InputKind::kE4m3, .limit = 2, .has_powers = true},
     false},
    {"e4m3", Kind::kE4m3, {.kind = InputKind::kE4m3}, false},
    {"e4m3, given scale", Kind::kE4m3, {.kind = InputKind::kE4m3, .scale = 0.01F}, false},
    {"e4m3 of tokens, in spans", Kind::kE4m3, {.kind = InputKind::kE4m3}, true},
    {"e4m3 in blocks", Kind::kE4m3, {.kind = InputKind::kE4m3, .block = 128}, true},
    {"int8", Kind::kInt8, {.kind = InputKind::kInt8}, false},
    {"int8, given scale",
     Kind::kInt8,
     {.kind = InputKind::kInt8, .scale = 0.03F, .zero = 5},
     false},
    {"int8 with zeros", Kind::kInt8, {.kind = InputKind::kInt8, .is_symmetric = false}, false},
};

// What a packer left, every byte of it.
struct Packed {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  std::vector<std::byte> shifts;
  bool operator==(const Packed&) const = default;
};

class InputsCuda : public ::testing::Test {
 protected:
  void SetUp() override { INGOT_NEEDS_DEVICE(); }

  Stream stream() { return static_cast<CudaDevice&>(*test_device()).stream(); }

  std::unique_ptr<DeviceBuffer> upload(std::span<const std::byte> bytes) {
    auto buffer = test_device()->allocate(bytes.size());
    EXPECT_TRUE(buffer.is_ok()) << buffer.status().message();
    EXPECT_TRUE(test_device()->write((*buffer)->data(), bytes).is_ok());
    return std::move(*buffer);
  }
  std::unique_ptr<DeviceBuffer> upload(const std::vector<float>& values) {
    return upload(std::as_bytes(std::span(values)));
  }
  static float* floats(const std::unique_ptr<DeviceBuffer>& buffer) {
    return reinterpret_cast<float*>(buffer->data());
  }
  std::vector<std::byte> download(const std::unique_ptr<DeviceBuffer>& buffer, size_t bytes) {
    std::vector<std::byte> result(bytes);
    const Status status = test_device()->read(buffer->data(), result);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return result;
  }

  static int64_t stride(int64_t cols) { return (cols + 127) / 128 * 128; }

  // Numbers as they come, a row of zeros, one with a NaN, one with a few large ones; rows of small
  // and of large numbers, and one of numbers that lie between codes, with zeros of both signs.
  std::vector<float> inputs(int64_t tokens, int64_t cols) {
    std::vector<float> x = random_.normals(tokens * cols);
    const auto row = [&](int64_t token) {
      return std::span(x).subspan(static_cast<size_t>(token * cols), static_cast<size_t>(cols));
    };
    if (tokens > 1) row(1).front() = 300;
    if (tokens > 2) std::ranges::fill(row(2), 0.0F);
    if (tokens > 3) row(3).back() = std::numeric_limits<float>::quiet_NaN();
    if (tokens > 4) multiply(row(4), 1e-32F);
    if (tokens > 5) multiply(row(5), 1e34F);
    if (tokens > 6) {
      row(6).front() = 448;
      for (int64_t i = 1; i < cols; ++i)
        row(6)[static_cast<size_t>(i)] =
            std::copysign(static_cast<float>(i % 1024) / 16, i % 3 == 0 ? 1.0F : -1.0F);
    }
    return x;
  }

  static void multiply(std::span<float> values, float factor) {
    for (float& value : values)
      value *= factor;
  }

  // Fills memory with what no packer writes, packs, and reads it all.
  Packed pack(const Form& form, int64_t tokens, int64_t cols,
              const std::function<void(const PackedRows&)>& packer) {
    const size_t rows = static_cast<size_t>(tokens);
    const auto padded = static_cast<size_t>(stride(cols));
    const size_t each = form.kind == Kind::kE4m3AsF16 ? 2 : 1;
    const size_t spans = form.has_spans ? padded / 128 : 0;
    constexpr std::byte kPoison{0xA5};
    const std::vector<std::byte> codes(rows * padded * each, kPoison);
    const std::vector<std::byte> scales(rows * std::max<size_t>(spans, 1) * 4, kPoison);
    const std::vector<std::byte> shifts(rows * 4, kPoison);
    const auto own_codes = upload(codes);
    const auto own_scales = upload(scales);
    const auto own_shifts = upload(shifts);
    // As the narrow kernel reads scales, or the library, with all tokens in one tile.
    const auto count = static_cast<int32_t>(tokens);
    const TokenTiles tiles = form.kind == Kind::kE4m3 ? TokenTiles{count, count} : TokenTiles{1, 1};
    packer({.kind = form.kind,
            .values = own_codes->data(),
            .stride = stride(cols),
            .scales = {form.quant, floats(own_scales), static_cast<int64_t>(spans), tiles, count,
                       form.kind == Kind::kInt8 ? floats(own_shifts) : nullptr}});
    return {download(own_codes, codes.size()), download(own_scales, scales.size()),
            download(own_shifts, shifts.size())};
  }
  Packed pack_alone(const Form& form, const float* x, int64_t tokens, int64_t cols) {
    return pack(form, tokens, cols, [&](const PackedRows& out) {
      pack_rounded({x, nullptr, cols, static_cast<int32_t>(tokens)}, out, stream());
    });
  }

  Random random_{test_seed()};
};

// From one warp's columns to more than a cluster of blocks keeps.
constexpr int64_t kColumns[] = {8, 136, 1152, 4096, 4104, 14336, 28672, 40008};

class InputsOfFormCuda : public InputsCuda, public ::testing::WithParamInterface<Form> {};

TEST_P(InputsOfFormCuda, RowsAreRoundedTheSameByAnyKernel) {
  const Form& form = GetParam();
  for (const int64_t cols : kColumns) {
    for (const int64_t tokens : {1, 9}) {
      const auto x = upload(inputs(tokens, cols));
      const Packed fused = pack(form, tokens, cols, [&](const PackedRows& out) {
        pack_rows(floats(x), tokens, cols, out, stream());
      });
      ASSERT_EQ(fused, pack_alone(form, floats(x), tokens, cols))
          << form.name << ", " << tokens << " by " << cols;
    }
  }
}

TEST_P(InputsOfFormCuda, ActivationsAreRoundedWithWhatMakesThem) {
  const Form& form = GetParam();
  for (const int64_t cols : kColumns) {
    for (const int64_t tokens : {1, 2, 5, 9}) {
      const auto gate = upload(inputs(tokens, cols));
      const auto up = upload(random_.normals(tokens * cols));
      const auto activation = tokens == 2 ? Activation::kGeluTanh : Activation::kSilu;
      const Packed fused = pack(form, tokens, cols, [&](const PackedRows& out) {
        activate_and_pack({static_cast<int>(activation), floats(gate), floats(up), floats(gate)},
                          tokens, cols, out, stream());
      });
      ASSERT_EQ(fused, pack_alone(form, floats(gate), tokens, cols))
          << form.name << ", " << tokens << " by " << cols;
    }
  }
}

TEST_P(InputsOfFormCuda, NormsAreRoundedWithWhatMakesThem) {
  const Form& form = GetParam();
  for (const int64_t cols : {8, 136, 1152, 4096, 5120, 8192, 12288, 16384}) {
    for (const int64_t tokens : {1, 3, 9}) {
      const auto x = upload(inputs(tokens, cols));
      const auto branch = upload(random_.normals(tokens * cols));
      const auto weight = upload(random_.normals(cols));
      const auto y = upload(poisoned(tokens * cols));
      const NormRows norm{.is_layer_norm = false,
                          .x = floats(x),
                          .y = floats(y),
                          .rows = tokens,
                          .dim = cols,
                          .eps = 1e-5F,
                          .weight = floats(weight),
                          .weight_rows = 1,
                          .bias = nullptr,
                          .residual = floats(x),
                          .branch = floats(branch),
                          .factor = 1};
      ASSERT_TRUE(can_fuse_norm(norm));
      const Packed fused = pack(form, tokens, cols, [&](const PackedRows& out) {
        normalize_and_pack(norm, out, stream());
      });
      ASSERT_EQ(fused, pack_alone(form, floats(y), tokens, cols))
          << form.name << ", " << tokens << " by " << cols;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, InputsOfFormCuda, ::testing::ValuesIn(kForms),
                         [](const auto& form) { return test_name(form.param.name); });

// Numbers again, from codes and scales, are those the processor rounds to.
TEST_F(InputsCuda, CodesMeanWhatTheProcessorRoundsTo) {
  for (const Form& form : kForms) {
    if (form.kind == Kind::kE4m3) continue;  // the same codes as numbers
    for (const int64_t cols : {1, 33, 100, 640, 4096}) {
      constexpr int64_t kTokens = 3;
      const std::vector<float> x = inputs(kTokens, cols);
      std::vector<float> wanted(x.size());
      const RoundKernel* kernel =
          choose_round(ActivationLayout::kF32, form.quant, TargetSet::scalar_only());
      ASSERT_NE(kernel, nullptr);
      kernel->run(
          {x.data(), cols, &form.quant, reinterpret_cast<std::byte*>(wanted.data()), nullptr}, 0,
          kTokens);
      const auto own_x = upload(x);
      const Packed packed = pack_alone(form, floats(own_x), kTokens, cols);
      const auto scale_at = [&](const std::vector<std::byte>& bytes, int64_t at) {
        float scale = 0;
        std::memcpy(&scale, bytes.data() + at * 4, 4);
        return scale;
      };
      for (int64_t i = 0; i < kTokens * cols; ++i) {
        const int64_t token = i / cols;
        const int64_t at = token * stride(cols) + i % cols;
        float value = 0;
        if (form.kind == Kind::kInt8) {
          const float scale = scale_at(packed.scales, token);
          const float shift = scale_at(packed.shifts, token);
          const float zero = scale == 0 ? 0 : std::nearbyint(shift / scale);
          const auto code = static_cast<int8_t>(packed.codes[static_cast<size_t>(at)]);
          value = scale * (static_cast<float>(code) - zero);
        } else {
          Half half{};
          std::memcpy(&half, packed.codes.data() + at * 2, 2);
          const int64_t spans = stride(cols) / 128;
          const int64_t scale = form.has_spans ? token * spans + i % cols / 128 : token;
          value = scale_at(packed.scales, scale) * to_float(half);
        }
        ASSERT_EQ(value, wanted[static_cast<size_t>(i)])
            << form.name << ", column " << i % cols << " of " << cols;
      }
    }
  }
}

}  // namespace
}  // namespace ingot::cuda
