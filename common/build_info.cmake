# Writes build_info.hpp: what this program was built from and with. Run at each build; the file is touched only when
# something changed, so that it costs no rebuild.
set(CHANGES "")
if(EXISTS ${SOURCE}/.commit)  # an exported tree carries its commit in this file
  file(READ ${SOURCE}/.commit COMMIT)
  string(STRIP "${COMMIT}" COMMIT)
else()
  execute_process(COMMAND git rev-parse --verify HEAD WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE COMMIT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE WHY RESULT_VARIABLE FAILED)
  execute_process(COMMAND git status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE CHANGES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(NO_COMMIT "")
if(FAILED OR NOT COMMIT)
  set(COMMIT "unknown")
  string(REGEX REPLACE "\n.*" "" NO_COMMIT "${WHY}")
  if(NOT NO_COMMIT)
    set(NO_COMMIT "git: ${FAILED}")
  endif()
  message("the commit is not known: ${NO_COMMIT}")
  string(REGEX REPLACE "[\"\\\\]" "'" NO_COMMIT "${NO_COMMIT}")
endif()
set(DIRTY false)
if(CHANGES)
  set(DIRTY true)
endif()
set(TEXT "/// Written by common/build_info.cmake.
#pragma once
namespace rung::build {
constexpr const char* kVersion = \"${VERSION}\";
constexpr const char* kCommit = \"${COMMIT}\";
constexpr const char* kNoCommit = \"${NO_COMMIT}\";  ///< why the commit is unknown
constexpr bool kDirty = ${DIRTY};
constexpr const char* kCxxCompiler = \"${CXX}\";
constexpr const char* kCxxFlags = \"${CXX_FLAGS}\";
constexpr const char* kCudaCompiler = \"${CUDA}\";
constexpr const char* kCudaFlags = \"${CUDA_FLAGS}\";
}  // namespace rung::build
")
set(OLD "")
if(EXISTS ${OUT})
  file(READ ${OUT} OLD)
endif()
if(NOT OLD STREQUAL TEXT)
  file(WRITE ${OUT} "${TEXT}")
endif()
