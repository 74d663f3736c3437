// SPDX-License-Identifier: Apache-2.0
#include "engine/fault.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(Fault, IsReadFromItsName) {
  EXPECT_EQ(parse_fault("")->kind, Fault::Kind::kNone);
  EXPECT_EQ(parse_fault("step:hang@50")->kind, Fault::Kind::kStepHang);
  EXPECT_EQ(parse_fault("step:hang@50")->at, 50);
  EXPECT_EQ(parse_fault("step:fail@1")->kind, Fault::Kind::kStepFail);
  EXPECT_EQ(parse_fault("logits:nan@3")->kind, Fault::Kind::kNanLogits);
  EXPECT_EQ(parse_fault("step:oom@2")->kind, Fault::Kind::kStepOom);
  EXPECT_EQ(parse_fault("step:lost@2")->kind, Fault::Kind::kStepLost);
  EXPECT_FALSE(parse_fault("step:lost@2")->needs_device());
  EXPECT_EQ(parse_fault("cuda:oom@100")->kind, Fault::Kind::kCudaOom);
  EXPECT_EQ(parse_fault("cuda:sticky@100")->kind, Fault::Kind::kCudaSticky);
  EXPECT_TRUE(parse_fault("cuda:sticky@100")->needs_device());
}

TEST(Fault, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"step", "step:hang", "step:hang@", "step:hang@0", "step:hang@-1", "step:hang@1x",
        "step:burn@1", "cuda:hang@1", "@1", "logits:nan@99999999999999999999"})
    EXPECT_EQ(parse_fault(text).status().code(), StatusCode::kInvalidArgument) << text;
}

}  // namespace
}  // namespace ingot
