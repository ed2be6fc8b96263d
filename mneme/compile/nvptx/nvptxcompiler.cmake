# libmneme_nvptxcompiler.so: the toolkit's nvPTXCompiler, which is a static archive, as a shared library that is opened at run time
# (nvptxcompiler.h). Without the archive it is not made, and PTX is assembled by what else is there.
find_library(MNEME_NVPTXCOMPILER_ARCHIVE libnvptxcompiler_static.a NO_DEFAULT_PATH
  HINTS ${MNEME_CUDA_HOME}/lib64 ${MNEME_CUDA_HOME}/lib ${MNEME_CUDA_HOME}/targets/x86_64-linux/lib
  DOC "nvPTXCompiler's static archive; part of the CUDA toolkit")
if(MNEME_NVPTXCOMPILER_ARCHIVE)
  set(functions nvPTXCompilerGetVersion nvPTXCompilerCreate nvPTXCompilerDestroy nvPTXCompilerCompile
    nvPTXCompilerGetCompiledProgramSize nvPTXCompilerGetCompiledProgram nvPTXCompilerGetErrorLogSize nvPTXCompilerGetErrorLog
    nvPTXCompilerGetInfoLogSize nvPTXCompilerGetInfoLog)
  list(JOIN functions ";\n" exported)
  file(CONFIGURE OUTPUT nvptxcompiler.map CONTENT "{ global:\n@exported@;\nlocal: *; };\n" @ONLY)
  file(CONFIGURE OUTPUT nvptxcompiler.c CONTENT "// Nothing of its own: the archive's functions are taken by name.\n" @ONLY)
  list(TRANSFORM functions PREPEND "LINKER:--undefined=")
  add_library(mneme_nvptxcompiler SHARED ${CMAKE_CURRENT_BINARY_DIR}/nvptxcompiler.c)
  # By GNU ld, whatever links the rest: lld leaves the archive's .ctors out of what is run at load, and it then crashes.
  target_link_options(mneme_nvptxcompiler PRIVATE -fuse-ld=bfd ${functions} LINKER:--gc-sections
    LINKER:--version-script=${CMAKE_CURRENT_BINARY_DIR}/nvptxcompiler.map)
  target_link_libraries(mneme_nvptxcompiler PRIVATE ${MNEME_NVPTXCOMPILER_ARCHIVE} Threads::Threads m ${CMAKE_DL_LIBS})
  install(TARGETS mneme_nvptxcompiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
else()
  message(STATUS "No libnvptxcompiler_static.a in the CUDA toolkit: PTX is assembled by nvJitLink or ptxas")
endif()
