# SPDX-License-Identifier: Apache-2.0
# Whether the CUDA kernels are built: INGOT_CUDA=AUTO (where nvcc is found), ON or OFF. One binary holds
# code for each generation of GPUs, and PTX that the driver compiles for later ones.
set(INGOT_HAS_CUDA OFF)
if(NOT INGOT_CUDA STREQUAL "OFF" AND NOT CMAKE_CROSSCOMPILING AND NOT INGOT_SANITIZE)
  find_program(INGOT_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
  if(INGOT_NVCC)
    set(CMAKE_CUDA_COMPILER ${INGOT_NVCC})
    set(CMAKE_CUDA_ARCHITECTURES "80-real;80-virtual;89-real;90a-real" CACHE STRING "GPUs to build for")
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    enable_language(CUDA)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # CMake 3.25 does not know that nvcc 13 can
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
    set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -lineinfo")
    find_package(CUDAToolkit REQUIRED)
    set(INGOT_HAS_CUDA ON)
  elseif(INGOT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "INGOT_CUDA is ON but nvcc was not found")
  endif()
endif()
