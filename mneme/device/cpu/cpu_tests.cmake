if(BUILD_TESTING)
  # Hand-written images for the tests of the CPU device's executor.
  function(mneme_test_image name source)
    add_library(${name} MODULE cpu/testing/${source})
    target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/rooms/device)
    target_compile_options(${name} PRIVATE -O2 -march=x86-64-v3 -Wno-frame-address)
    target_compile_definitions(${name} PRIVATE ${ARGN})
    add_dependencies(mneme_device_test ${name})
  endfunction()
  mneme_test_image(mneme_cpu_test_kernels kernels.cc)
  mneme_test_image(mneme_cpu_test_plain_object wrong_image.cc)
  mneme_test_image(mneme_cpu_test_other_version wrong_image.cc MNEME_TEST_VERSION=7)
  target_compile_definitions(mneme_device_test PRIVATE
    MNEME_TEST_KERNELS="$<TARGET_FILE:mneme_cpu_test_kernels>"
    MNEME_TEST_PLAIN_OBJECT="$<TARGET_FILE:mneme_cpu_test_plain_object>"
    MNEME_TEST_OTHER_VERSION="$<TARGET_FILE:mneme_cpu_test_other_version>")

  add_executable(mneme_cpu_executor_bench EXCLUDE_FROM_ALL cpu/testing/executor_bench.cc)
  target_link_libraries(mneme_cpu_executor_bench PRIVATE mneme_device mneme_warnings GTest::gtest)
  target_compile_definitions(mneme_cpu_executor_bench PRIVATE MNEME_TEST_KERNELS="$<TARGET_FILE:mneme_cpu_test_kernels>")
  add_dependencies(mneme_cpu_executor_bench mneme_cpu_test_kernels)
endif()
