# SPDX-License-Identifier: Apache-2.0
# ingot_library(NAME DEPENDS a b SOURCES x.cc TESTS x_test.cc LINK lib): one folder of src/ as a static
# library. DEPENDS is the folder's row in the include table; tools/check_layers.py reads it from here.

add_library(ingot_warnings INTERFACE)
target_compile_options(ingot_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
                                                -fstack-protector-strong)
if(INGOT_ARM)  # every ARM fuses: GCC would wherever it may, and results differ from x86 for no reason
  target_compile_options(ingot_warnings INTERFACE -ffp-contract=off)
endif()
target_compile_definitions(ingot_warnings INTERFACE _GLIBCXX_ASSERTIONS)
target_include_directories(ingot_warnings INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)

# Folders whose code waits for clients, disks and kernels: under sanitizers they are built without
# optimization, which takes half the time.
set(unhurried api server eval bench cli model convert)
function(ingot_relax target folder)
  if(INGOT_SANITIZE AND folder IN_LIST unhurried)
    target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE)
  endif()
endfunction()

# Most of the time of compiling goes into headers (JSON, GoogleTest, CLI11, Beast), so several sources
# of a target are compiled as one: what is in an anonymous namespace or defined by a macro is then seen
# by its neighbours, and names must differ within a folder. Sources with options of their own, such as
# the kernels of a target, stay alone.
function(ingot_batch target)
  if(INGOT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
    # GCC takes all but the first source for headers, where types of an anonymous namespace are suspect.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(ingot_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SOURCES;TESTS;LINK;ALONE" ${ARGN})
  add_library(ingot_${name} STATIC ${ARG_SOURCES})
  ingot_batch(ingot_${name})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(ingot_${name} PRIVATE ingot_warnings PUBLIC ${ARG_LINK})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(ingot_${name} PUBLIC ingot_${dependency})
  endforeach()
  ingot_relax(ingot_${name} ${name})
  if(ARG_TESTS AND INGOT_TESTS)
    ingot_test(${name}_test DEPENDS ${name} SOURCES ${ARG_TESTS})
    ingot_relax(${name}_test ${name})
  endif()
endfunction()

# ingot_test(NAME DEPENDS a b SOURCES x_test.cc [LABEL fast|model|slow]): a GoogleTest program, one
# ctest entry for all of it (gtest prints the single tests). Those that run whole models take too long
# under sanitizers and are not built there. `make test` runs the others under sanitizers alone, but for
# those of numeric code, which the optimizer could break: the target release_tests has what it builds
# without sanitizers, and the label `release` what of it is fast.
if(INGOT_TESTS)
  add_custom_target(release_tests)
endif()
function(ingot_test name)
  cmake_parse_arguments(ARG "" "LABEL" "DEPENDS;SOURCES;LINK" ${ARGN})
  if(INGOT_SANITIZE AND ARG_LABEL)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  if(NOT name MATCHES "cuda_test$")
    ingot_batch(${name})
  endif()
  target_link_libraries(${name} PRIVATE ingot_warnings GTest::gmock GTest::gtest_main ${ARG_LINK})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${name} PRIVATE ingot_${dependency})
  endforeach()
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE INGOT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(ARG_LABEL)
    add_dependencies(release_tests ${name})
  elseif(name MATCHES "^(blocks|kernels|quant)_test$|cuda_test$")
    add_dependencies(release_tests ${name})
    set(ARG_LABEL fast release)
  else()
    set(ARG_LABEL fast)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 900)
endfunction()

# ingot_fuzzer(NAME DEPENDS a SOURCES x_fuzz.cc): a libFuzzer target, built by the asan preset only.
# ctest runs it for a few seconds over tests/corpus/NAME; `make fuzz` runs it longer.
function(ingot_fuzzer name)
  if(NOT INGOT_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "DEPENDS;SOURCES" ${ARGN})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE ingot_warnings)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(fuzz_${name} PRIVATE ingot_${dependency})
  endforeach()
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_test(NAME fuzz_${name} COMMAND ${CMAKE_SOURCE_DIR}/tools/fuzz.sh $<TARGET_FILE:fuzz_${name}> 5)
  set_tests_properties(fuzz_${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()
