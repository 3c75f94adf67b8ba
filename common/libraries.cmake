# The libraries that rung is built with, one declaration each. A library is looked for
#   1. on this machine (find_package, or its header and its archive);
#   2. in the folder RUNG_SOURCES: its archive (any version, as NAME-1.2.3.tar.gz or a Debian NAME_1.2.3.orig.tar.xz) or
#      its unpacked folder;
#   3. on the network: the pinned version, held to its SHA-256. RUNG_URL_<library> and RUNG_SHA256_<library> name another
#      place or version; RUNG_DOWNLOAD=OFF forbids it.
# Without a required one the configuration ends and names all that are missing. Without an optional one, what needs it
# is left out, and the summary has a line about it. RUNG_WITHOUT="hwloc;highway" leaves out or ignores what is
# installed.
#   cmake -DRUNG_SOURCES=DIR -P common/libraries.cmake      downloads all archives into DIR, to be carried elsewhere
include_guard()
cmake_policy(SET CMP0054 NEW)

set(RUNG_SOURCES "" CACHE PATH "A folder with the sources of libraries that are not installed")
set(RUNG_WITHOUT "" CACHE STRING "Libraries to be treated as if they were not installed, separated by semicolons")
option(RUNG_DOWNLOAD "Download the sources of libraries that are neither installed nor in RUNG_SOURCES" ON)

set(rung_pinned benchmark fmt cli11 nlohmann_json tomlplusplus eigen highway googletest)
macro(rung_pin name url sha256)
  set(RUNG_URL_${name} ${url} CACHE STRING "Where the sources of ${name} are downloaded from")
  set(RUNG_SHA256_${name} ${sha256} CACHE STRING "The SHA-256 of that archive")
  mark_as_advanced(RUNG_URL_${name} RUNG_SHA256_${name})
endmacro()
rung_pin(benchmark https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz
         6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7)
rung_pin(fmt https://github.com/fmtlib/fmt/archive/refs/tags/9.1.0.tar.gz
         5dea48d1fcddc3ec571ce2058e13910a0d4a6bab4cc09a809d8b1dd1c88ae6f2)
rung_pin(cli11 https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.1.2.tar.gz
         26291377e892ba0e5b4972cdfd4a2ab3bf53af8dac1f4ea8fe0d1376b625c8cb)
rung_pin(nlohmann_json https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz
         d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273)
rung_pin(tomlplusplus https://github.com/marzer/tomlplusplus/archive/refs/tags/v3.3.0.tar.gz
         fc1a5eb410f3c67e90e5ad1264a1386d020067cfb01b633cc8c0441789aa6cf2)
rung_pin(eigen https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.bz2
         b4c198460eba6f28d34894e3a5710998818515104d6e74e5cc331ce31e46e626)
rung_pin(highway https://github.com/google/highway/archive/refs/tags/1.0.3.tar.gz
         566fc77315878473d9a6bd815f7de78c73734acdcb745c3dde8579560ac5440e)
rung_pin(googletest https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz
         81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2)

# Downloads the pinned archive to `file`. `failure`: why it could not; empty if it did.
function(rung_download name file failure)
  set(${failure} "" PARENT_SCOPE)
  if(EXISTS ${file})
    file(SHA256 ${file} have)
    if(have STREQUAL RUNG_SHA256_${name})
      return()
    endif()
  endif()
  file(DOWNLOAD ${RUNG_URL_${name}} ${file}.part STATUS status INACTIVITY_TIMEOUT 20 TLS_VERIFY ON)
  list(POP_FRONT status code)
  if(NOT code EQUAL 0)
    file(REMOVE ${file}.part)
    set(${failure} "${RUNG_URL_${name}}: ${status}" PARENT_SCOPE)
    return()
  endif()
  file(SHA256 ${file}.part have)
  if(NOT have STREQUAL RUNG_SHA256_${name})
    file(REMOVE ${file}.part)
    set(${failure} "${RUNG_URL_${name}} is not the pinned archive: its SHA-256 is ${have}" PARENT_SCOPE)
    return()
  endif()
  file(RENAME ${file}.part ${file})
endfunction()

# The file name under which an archive is kept: "fmt-9.1.0.tar.gz".
function(rung_archive_name name result)
  string(REGEX MATCH "[0-9]+(\\.[0-9]+)+" version "${RUNG_URL_${name}}")
  string(REGEX MATCH "(\\.tar\\.[a-z0-9]+|\\.zip|\\.tgz)$" ending "${RUNG_URL_${name}}")
  set(${result} ${name}-${version}${ending} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  if(NOT RUNG_SOURCES)
    message(FATAL_ERROR "say where to: cmake -DRUNG_SOURCES=DIR -P ${CMAKE_SCRIPT_MODE_FILE}")
  endif()
  file(MAKE_DIRECTORY ${RUNG_SOURCES})
  foreach(name ${rung_pinned})
    rung_archive_name(${name} file)
    rung_download(${name} ${RUNG_SOURCES}/${file} failure)
    if(failure)
      message(FATAL_ERROR "${failure}")
    endif()
    message(STATUS "${RUNG_SOURCES}/${file}")
  endforeach()
  return()
endif()

# What the summary, `rung --version` and `rung doctor` report of each library: name|version|state|cost|package.
set(rung_libraries "")
set(rung_missing "")

function(rung_report title version state cost package)
  set(all ${rung_libraries})
  list(APPEND all "${title}|${version}|${state}|${cost}|${package}")
  set(rung_libraries "${all}" PARENT_SCOPE)
endfunction()

# The numbers that follow the given macros in a header, joined with dots; else the text between quotes there.
function(rung_version_in header result)
  set(version "")
  foreach(name ${ARGN})
    if(EXISTS ${header})
      file(STRINGS ${header} line REGEX "# *define +${name} " LIMIT_COUNT 1)
      if(line MATCHES "\"[^0-9]*([0-9][0-9._]*)")
        string(REPLACE "_" "." number ${CMAKE_MATCH_1})
        list(APPEND version ${number})
      elseif(line MATCHES "${name} +\\(?([0-9]+)")
        list(APPEND version ${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
  list(JOIN version "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# Unpacks the sources of `name` and sets `folder` to where they are, `state` to where they came from; empty if they are
# not to be had, with the reason in `state`.
function(rung_sources name folder state)
  set(${folder} "" PARENT_SCOPE)
  set(archive "")
  if(RUNG_SOURCES)
    string(REPLACE "_" "?" pattern ${name})  # nlohmann_json, nlohmann-json3
    set(patterns "")
    foreach(start ${pattern} ${ARGN})
      list(APPEND patterns ${RUNG_SOURCES}/${start}-[0-9v]* ${RUNG_SOURCES}/${start}_[0-9]* ${RUNG_SOURCES}/${start})
    endforeach()
    file(GLOB found ${patterns})
    list(FILTER found EXCLUDE REGEX "\\.(dsc|asc|part|debian\\.tar\\..*)$")
    if(found)
      list(SORT found COMPARE NATURAL ORDER DESCENDING)
      list(GET found 0 archive)
      set(from "built from ${archive}")
    endif()
  endif()
  if(NOT archive AND RUNG_DOWNLOAD)
    rung_archive_name(${name} file)
    set(file ${CMAKE_BINARY_DIR}/sources/${file})
    if(NOT DEFINED rung_offline OR EXISTS ${file})
      rung_download(${name} ${file} failure)
      if(failure)
        set(rung_offline "${failure}" PARENT_SCOPE)  # one try is enough where there is no network
        set(${state} "${failure}" PARENT_SCOPE)
        return()
      endif()
      set(archive ${file})
      set(from "built from ${RUNG_URL_${name}}")
    endif()
  endif()
  if(NOT archive)
    set(${state} "not found" PARENT_SCOPE)
    return()
  endif()
  set(to ${CMAKE_BINARY_DIR}/sources/${name})
  if(IS_DIRECTORY ${archive})
    set(to ${archive})
  else()
    file(SHA256 ${archive} hash)
    set(stamp "")
    if(EXISTS ${to}.sha256)
      file(READ ${to}.sha256 stamp)
    endif()
    if(NOT stamp STREQUAL hash)
      file(REMOVE_RECURSE ${to})
      file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${to})
      file(WRITE ${to}.sha256 ${hash})
    endif()
  endif()
  file(GLOB inside ${to}/*)
  list(LENGTH inside count)
  if(count EQUAL 1)  # archives have one folder at the top
    set(to ${inside})
  endif()
  set(${folder} ${to} PARENT_SCOPE)
  set(${state} "${from}" PARENT_SCOPE)
endfunction()

# Headers of a library that has nothing to compile, as the target that its own package would define.
function(rung_headers target folder)
  string(REPLACE "::" "_" plain ${target})
  add_library(${plain} INTERFACE)
  target_include_directories(${plain} SYSTEM INTERFACE ${folder})
  add_library(${target} ALIAS ${plain})
endfunction()

# rung_library(NAME TITLE title TARGET target PACKAGE debian-package
#              [FIND package [version]]                      find_package's arguments
#              [HEADER header [LIBRARY library…] [SUFFIXES …]]  or what it consists of
#              [VERSION_IN header macro…]
#              [ALSO other name of its archive…]
#              [COST text])                                  optional: what is left out without it
# A library with sources has a macro rung_build_NAME(folder), which defines the target.
function(rung_library name)
  set_property(GLOBAL APPEND PROPERTY rung_known_libraries ${name})
  cmake_parse_arguments(PARSE_ARGV 1 it "" "TITLE;TARGET;PACKAGE;COST;HEADER" "FIND;LIBRARY;SUFFIXES;VERSION_IN;ALSO")
  set(version "")
  set(state "")
  if(name IN_LIST RUNG_WITHOUT)
  elseif(it_FIND)
    find_package(${it_FIND} QUIET GLOBAL)
    list(GET it_FIND 0 package)
    if(TARGET ${it_TARGET})
      set(state "installed")
      set(version "${${package}_VERSION}")
    endif()
  else()
    string(TOUPPER RUNG_${name} upper)
    find_path(${upper}_INCLUDE ${it_HEADER} PATH_SUFFIXES ${it_SUFFIXES})
    set(parts ${${upper}_INCLUDE})
    if(it_LIBRARY)
      find_library(${upper}_LIBRARY NAMES ${it_LIBRARY} PATH_SUFFIXES ${it_SUFFIXES})
      list(APPEND parts ${${upper}_LIBRARY})
    endif()
    mark_as_advanced(${upper}_INCLUDE ${upper}_LIBRARY)
    if(NOT "${parts}" MATCHES "NOTFOUND" AND parts)
      rung_headers(${it_TARGET} ${${upper}_INCLUDE})
      if(it_LIBRARY)
        string(REPLACE "::" "_" plain ${it_TARGET})
        target_link_libraries(${plain} INTERFACE ${${upper}_LIBRARY})
      endif()
      set(state "installed")
      if(it_VERSION_IN)
        list(POP_FRONT it_VERSION_IN header)
        if(NOT EXISTS ${${upper}_INCLUDE}/${header})
          set(header ${CMAKE_LIBRARY_ARCHITECTURE}/${header})
        endif()
        rung_version_in(${${upper}_INCLUDE}/${header} version ${it_VERSION_IN})
      endif()
    endif()
  endif()
  set(reason "not found")
  if(NOT state AND name IN_LIST rung_pinned)
    rung_sources(${name} folder reason ${it_ALSO})
    if(folder)
      cmake_language(CALL rung_build_${name} ${folder})
      set(state "${reason}")
      string(REGEX MATCH "[0-9]+(\\.[0-9]+)+" version "${reason}")
    endif()
  endif()
  if(state)
    rung_report("${it_TITLE}" "${version}" "${state}" "" "${it_PACKAGE}")
  else()
    rung_report("${it_TITLE}" "" "missing" "${it_COST}" "${it_PACKAGE}")
    if(NOT it_COST)
      set(rung_missing ${rung_missing} "${it_TITLE} (${reason}, in Debian and Ubuntu ${it_PACKAGE})" PARENT_SCOPE)
    endif()
  endif()
  set(rung_libraries "${rung_libraries}" PARENT_SCOPE)
  if(DEFINED rung_offline)
    set(rung_offline "${rung_offline}" PARENT_SCOPE)
  endif()
endfunction()

# How each is built from its sources. Their own warnings are not ours to mend.
macro(rung_build_benchmark folder)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  set(BENCHMARK_ENABLE_WERROR OFF)
  rung_add_subdirectory(${folder})
endmacro()
macro(rung_build_googletest folder)
  set(INSTALL_GTEST OFF)
  set(BUILD_GMOCK OFF)
  rung_add_subdirectory(${folder})
  if(NOT TARGET GTest::gtest)
    add_library(GTest::gtest ALIAS gtest)
    add_library(GTest::gtest_main ALIAS gtest_main)
  endif()
endmacro()
macro(rung_build_highway folder)
  set(HWY_ENABLE_TESTS OFF)
  set(HWY_ENABLE_CONTRIB OFF)
  set(HWY_ENABLE_EXAMPLES OFF)
  set(HWY_ENABLE_INSTALL OFF)
  set(BUILD_TESTING OFF)
  rung_add_subdirectory(${folder})
  rung_headers(rung::highway ${folder})
  target_link_libraries(rung_highway INTERFACE hwy)
endmacro()
macro(rung_build_fmt folder)
  add_library(rung_fmt STATIC EXCLUDE_FROM_ALL ${folder}/src/format.cc)
  target_include_directories(rung_fmt SYSTEM PUBLIC ${folder}/include)
  target_compile_features(rung_fmt PUBLIC cxx_std_17)
  add_library(fmt::fmt ALIAS rung_fmt)
endmacro()
macro(rung_build_cli11 folder)
  rung_headers(CLI11::CLI11 ${folder}/include)
endmacro()
macro(rung_build_nlohmann_json folder)
  rung_headers(nlohmann_json::nlohmann_json ${folder}/include)
endmacro()
macro(rung_build_tomlplusplus folder)
  rung_headers(rung::toml ${folder}/include)
endmacro()
macro(rung_build_eigen folder)
  rung_headers(Eigen3::Eigen ${folder})
endmacro()
# A third-party project: as static libraries, with its own options, not part of `all`, and silent.
macro(rung_add_subdirectory folder)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # an ordinary variable decides an option
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5)  # CMake 4 refuses projects that require an older one
  if(CMAKE_VERSION VERSION_LESS 4)
    set(CMAKE_WARN_DEPRECATED OFF)
  endif()
  set(BUILD_SHARED_LIBS OFF)
  set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
  add_subdirectory(${folder} ${CMAKE_BINARY_DIR}/sources/${name}-build EXCLUDE_FROM_ALL SYSTEM)
endmacro()

rung_library(benchmark TITLE "Google Benchmark" TARGET benchmark::benchmark FIND benchmark PACKAGE libbenchmark-dev)
rung_library(fmt TITLE fmt TARGET fmt::fmt FIND fmt PACKAGE libfmt-dev ALSO fmtlib)
rung_library(cli11 TITLE CLI11 TARGET CLI11::CLI11 FIND CLI11 PACKAGE libcli11-dev ALSO CLI11)
rung_library(nlohmann_json TITLE nlohmann-json TARGET nlohmann_json::nlohmann_json FIND nlohmann_json
             PACKAGE nlohmann-json3-dev ALSO nlohmann-json3 json)
rung_library(tomlplusplus TITLE toml++ TARGET rung::toml HEADER toml++/toml.h PACKAGE libtomlplusplus-dev
             VERSION_IN toml++/impl/version.h TOML_LIB_MAJOR TOML_LIB_MINOR TOML_LIB_PATCH ALSO toml++)
rung_library(eigen TITLE Eigen TARGET Eigen3::Eigen FIND Eigen3 3.3 NO_MODULE PACKAGE libeigen3-dev ALSO eigen3)
rung_library(highway TITLE Highway TARGET rung::highway HEADER hwy/highway.h LIBRARY hwy PACKAGE libhwy-dev
             VERSION_IN hwy/highway.h HWY_MAJOR HWY_MINOR HWY_PATCH
             COST "no cpu/math/highway and no SIMD micro-kernel: the CPU's ladder ends at register tiles")
rung_library(boost_context TITLE Boost.Context TARGET rung::boost_context HEADER boost/context/fiber.hpp
             LIBRARY boost_context PACKAGE libboost-context-dev VERSION_IN boost/version.hpp BOOST_LIB_VERSION
             COST "the emulator takes four times as long from thread to thread: counting and checking are slower")
rung_library(hwloc TITLE hwloc TARGET rung::hwloc HEADER hwloc.h LIBRARY hwloc PACKAGE libhwloc-dev
             VERSION_IN hwloc/autogen/config.h HWLOC_VERSION
             COST "caches and cores are read from /sys, which hypervisors fill less carefully")
rung_library(openblas TITLE OpenBLAS TARGET rung::openblas HEADER cblas.h LIBRARY openblas
             # Built on OpenMP it shares its threads with the kernels; built on pthreads its own fight those that
             # OpenMP keeps ready.
             SUFFIXES openblas-openmp x86_64-linux-gnu/openblas-openmp x86_64-linux-gnu aarch64-linux-gnu openblas
                      openblas-pthread
             PACKAGE libopenblas-openmp-dev VERSION_IN openblas_config.h OPENBLAS_VERSION
             COST "no cpu/matmul/openblas: the CPU's ladder is not compared with a BLAS")
rung_library(onednn TITLE oneDNN TARGET rung::onednn HEADER oneapi/dnnl/dnnl.h LIBRARY dnnl PACKAGE libdnnl-dev
             VERSION_IN oneapi/dnnl/dnnl_version.h DNNL_VERSION_MAJOR DNNL_VERSION_MINOR DNNL_VERSION_PATCH
             COST "no cpu/matmul/onednn and onednn_bf16: the CPU's ladder is not compared with a deep-learning library")
option(RUNG_TESTS "Build the tests" ON)
if(RUNG_TESTS)
  rung_library(googletest TITLE GoogleTest TARGET GTest::gtest_main FIND GTest PACKAGE libgtest-dev
               COST "no C++ tests")
endif()
get_property(known GLOBAL PROPERTY rung_known_libraries)
foreach(name ${RUNG_WITHOUT})
  if(NOT name IN_LIST known AND NOT name STREQUAL "googletest")
    list(JOIN known ", " known)
    message(FATAL_ERROR "RUNG_WITHOUT: there is no library '${name}', but ${known}")
  endif()
endforeach()

# The summary, and the same for the program. Called at the end of the configuration.
function(rung_summary file)
  set(rows "")
  message(STATUS "rung ${PROJECT_VERSION} with")
  foreach(library ${rung_libraries})
    string(REPLACE "|" ";" fields "${library}")
    list(GET fields 0 title)
    list(GET fields 1 version)
    list(GET fields 2 state)
    list(GET fields 3 cost)
    list(GET fields 4 package)
    string(APPEND rows "    {\"${title}\", \"${version}\", \"${state}\", \"${cost}\", \"${package}\"},\n")
    if(state STREQUAL "missing")
      message(STATUS "  ${title}: missing (${package}): ${cost}")
    else()
      message(STATUS "  ${title} ${version}: ${state}")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "/// Written by common/libraries.cmake.
#pragma once
namespace rung::build {
struct Library {
  const char *name, *version, *state, *cost, *package;
};
constexpr Library kLibraries[] = {
@rows@};
}  // namespace rung::build
")
endfunction()

if(rung_missing)
  list(JOIN rung_missing "\n  " lines)
  message(FATAL_ERROR "rung cannot be built without\n  ${lines}\n"
    "Install the packages; or, without root, name a folder of their sources with -DRUNG_SOURCES=DIR "
    "(on a machine with a network: cmake -DRUNG_SOURCES=DIR -P common/libraries.cmake).")
endif()
