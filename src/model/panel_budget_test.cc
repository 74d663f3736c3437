// SPDX-License-Identifier: Apache-2.0
#include "model/panel_budget.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(PanelBudget, KeepsRowsWherePanelsWouldNotLeaveATenthOfTheFreeMemory) {
  EXPECT_FALSE((PanelBudget{9 * kGiB, 6 * kGiB, 10 * kGiB}.keeps_rows()));
  EXPECT_TRUE((PanelBudget{9 * kGiB + 10, 6 * kGiB, 10 * kGiB}.keeps_rows()));
  EXPECT_TRUE((PanelBudget{90 * kGiB, 60 * kGiB, 10 * kGiB}.keeps_rows())) << "rows can be dropped";
}

TEST(PanelBudget, PacksWhereRowsWouldSaveNothing) {
  EXPECT_FALSE((PanelBudget{9 * kGiB, 9 * kGiB, kGiB}.keeps_rows()));
}

TEST(PanelBudget, PacksWhereFreeMemoryIsNotKnown) {
  EXPECT_FALSE((PanelBudget{9 * kGiB, 6 * kGiB, 0}.keeps_rows()));
}

}  // namespace
}  // namespace ingot
