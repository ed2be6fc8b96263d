# What takes long begins first, so that no long test is left to run alone when the others are done. CTest knows that from the last time,
# but not in a clean build tree.
#
# mneme_set_cost(<test>): for a test of this folder and those within. One that is not named here is as short as the tests of a room.
set(costs
  "200: e2e.as_built e2e.python_package"
  "150: python3[0-9]+.build"
  "100: e2e.check_gpu e2e.hip_build e2e.build_extension e2e.source e2e.cmake_cuda_language python.guides python.tune_command"
  "50: e2e.sweep e2e.cxx_api e2e.deploy_verify e2e.hip_code e2e.hip_gpu_cases e2e.hip_on_nvidia e2e.hip_source lint.headers"
  "50: lit.instrument.linking"
  "30: e2e.reproducer e2e.deploy.* e2e.help e2e.guard e2e.pass_pipelines e2e.recording e2e.hip_gpu python3[0-9]+.core"
  "30: python.executor python.report"
  "20: e2e..* python..* lint.mypy lint.format lit..*")
function(mneme_set_cost test)
  foreach(line IN LISTS costs)
    string(REGEX MATCHALL "[^: ]+" names "${line}")
    list(POP_FRONT names seconds)
    list(JOIN names "|" names)
    if(test MATCHES "^(${names})$")
      set_tests_properties(${test} PROPERTIES COST ${seconds})
      return()
    endif()
  endforeach()
endfunction()
