# SPDX-License-Identifier: Apache-2.0
# The kernels, what they stand on, and their tests: all that is needed to try another processor's
# kernels under an emulator. Of libraries it takes headers and GoogleTest's sources only (Debian's
# /usr/src), so nothing has to be installed for that processor but its compiler.
if(INGOT_TESTS)
  set(INGOT_GTEST_SOURCES /usr/src/googletest CACHE PATH "GoogleTest's sources")
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  add_subdirectory(${INGOT_GTEST_SOURCES} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)
endif()
foreach(folder base blocks tensor kernels)
  add_subdirectory(src/${folder})
endforeach()
