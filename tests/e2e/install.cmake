# Installs BUILD into ROOT/prefix, from nothing.
file(REMOVE_RECURSE ${ROOT})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${ROOT}/prefix OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
