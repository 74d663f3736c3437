// SPDX-License-Identifier: Apache-2.0
#include "base/float_types.h"

#include <gtest/gtest.h>
