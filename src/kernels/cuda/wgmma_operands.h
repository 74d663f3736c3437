// SPDX-License-Identifier: Apache-2.0
// Products of Hopper's tensor cores in the assembler's words, which names every register of the
// sums: macros, as nothing else can make such lists. `product` is the instruction's shape and
// types, `rest` what follows its operands, `how` the kind of register that sums are in. The names
// a, b, c and is_added are those of the function around it.
#pragma once

#define INGOT_SUMS_4(how, i) how(c[i]), how(c[(i) + 1]), how(c[(i) + 2]), how(c[(i) + 3])
#define INGOT_SUMS_8(how, i) INGOT_SUMS_4(how, i), INGOT_SUMS_4(how, (i) + 4)
#define INGOT_SUMS_16(how, i) INGOT_SUMS_8(how, i), INGOT_SUMS_8(how, (i) + 8)
#define INGOT_SUMS_32(how, i) INGOT_SUMS_16(how, i), INGOT_SUMS_16(how, (i) + 16)
#define INGOT_SUMS_64(how, i) INGOT_SUMS_32(how, i), INGOT_SUMS_32(how, (i) + 32)

#define INGOT_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define INGOT_NAMES_16 INGOT_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define INGOT_NAMES_32 \
  INGOT_NAMES_16       \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define INGOT_NAMES_64                                                                \
  INGOT_NAMES_32                                                                      \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47," \
  " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// Both factors in shared memory; c starts at 0 unless is_added. a, b and is_added are named.
#define INGOT_MULTIPLY(count, a_name, b_name, added_name, product, rest, how)                   \
  asm volatile(                                                                                 \
      "{\n"                                                                                     \
      ".reg .pred added;\n"                                                                     \
      "setp.ne.b32 added, " added_name                                                          \
      ", 0;\n"                                                                                  \
      "wgmma.mma_async.sync.aligned." product " {" INGOT_NAMES_##count "}, " a_name ", " b_name \
                                                                       ", added" rest           \
                                                                       ";\n"                    \
                                                                       "}\n"                    \
      : INGOT_SUMS_##count(how, 0)                                                              \
      : "l"(a), "l"(b), "r"(is_added))
#define INGOT_MULTIPLY_8(product, rest, how) \
  INGOT_MULTIPLY(8, "%8", "%9", "%10", product, rest, how)
#define INGOT_MULTIPLY_16(product, rest, how) \
  INGOT_MULTIPLY(16, "%16", "%17", "%18", product, rest, how)
#define INGOT_MULTIPLY_32(product, rest, how) \
  INGOT_MULTIPLY(32, "%32", "%33", "%34", product, rest, how)
#define INGOT_MULTIPLY_64(product, rest, how) \
  INGOT_MULTIPLY(64, "%64", "%65", "%66", product, rest, how)

// a in registers; sums of floats are added to.
#define INGOT_ADD_PRODUCT(count, a_names, b_name, product, rest)                \
  asm volatile("wgmma.mma_async.sync.aligned." product " {" INGOT_NAMES_##count \
               "}, {" a_names "}, " b_name rest ";\n"                           \
               : INGOT_SUMS_##count("+f", 0)                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define INGOT_ADD_PRODUCT_16(product, rest) \
  INGOT_ADD_PRODUCT(16, "%16, %17, %18, %19", "%20", product, rest)
#define INGOT_ADD_PRODUCT_32(product, rest) \
  INGOT_ADD_PRODUCT(32, "%32, %33, %34, %35", "%36", product, rest)
#define INGOT_ADD_PRODUCT_64(product, rest) \
  INGOT_ADD_PRODUCT(64, "%64, %65, %66, %67", "%68", product, rest)
