// SPDX-License-Identifier: Apache-2.0
#include "base/byte_reader.h"

#include <gtest/gtest.h>
