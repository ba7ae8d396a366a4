# weir_module(NAME DEPS ... LIBS ... TESTING ...): one static library per folder of src/, its *_test.cc in one test binary.
# DEPS are other modules (layers above only, see tools/check_layers.py), LIBS third-party libraries. TESTING names sources
# that tests alone use, of this module and of those that depend on it: they make a library of their own,
# weir_NAME_testing, which the program is not linked with.

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(fmt REQUIRED)

add_library(weir_flags INTERFACE)
target_include_directories(weir_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
target_include_directories(weir_flags SYSTEM INTERFACE /usr/include)
target_compile_definitions(weir_flags INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_BEAST_SEPARATE_COMPILATION
  SPDLOG_FMT_EXTERNAL SPDLOG_COMPILED_LIB)
target_link_libraries(weir_flags INTERFACE Threads::Threads fmt::fmt)
if(WEIR_SANITIZE)
  target_compile_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()
if(WEIR_FUZZ)
  target_compile_options(weir_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# One precompiled header for all modules: what nearly all of them include and what is slow to parse.
# It is not CMake's own kind, which passes absolute paths: it names no file of the checkout and carries
# no time stamps, so that ccache shares it, and all that is built with it, between checkouts. Its main
# file is the last header, the others are included before it.
set(weir_pch_headers
  fmt/format.h algorithm array atomic boost/asio/any_io_executor.hpp boost/asio/async_result.hpp
  boost/asio/awaitable.hpp boost/asio/co_spawn.hpp boost/asio/detached.hpp boost/asio/dispatch.hpp
  boost/asio/io_context.hpp boost/asio/post.hpp boost/asio/steady_timer.hpp boost/asio/this_coro.hpp chrono
  cstddef cstdint deque expected functional map memory mutex optional set span string string_view unordered_map
  unordered_set utility variant vector)
set(weir_pch_source /usr/include/boost/asio/use_awaitable.hpp)
set(weir_pch_file CMakeFiles/weir_pch.dir${weir_pch_source}.o)
list(TRANSFORM weir_pch_headers PREPEND "SHELL:-include ")
add_library(weir_pch OBJECT ${weir_pch_source})
set_source_files_properties(${weir_pch_source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS -xc++-header)
target_compile_options(weir_pch PRIVATE ${weir_pch_headers})
target_link_libraries(weir_pch PRIVATE weir_flags)
target_compile_options(weir_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")

function(weir_use_pch target)
  target_compile_options(${target} PRIVATE
    -include-pch ${weir_pch_file} "SHELL:-Xclang -fno-validate-pch")
  add_dependencies(${target} weir_pch)
  # At the end of the folder, when generated sources have been added too.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL weir_depend_on_pch ${target})")
endfunction()

function(weir_depend_on_pch target)
  get_target_property(sources ${target} SOURCES)
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES
    OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${weir_pch_file})
endfunction()

add_library(weir_asio STATIC ${CMAKE_SOURCE_DIR}/cmake/asio_impl.cc ${CMAKE_SOURCE_DIR}/cmake/asio_ssl_impl.cc)
target_link_libraries(weir_asio PUBLIC weir_flags ssl crypto)

add_custom_target(benches)  # what ./dev bench builds: each module's x_bench.cc in one binary

function(weir_module name)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS;TESTING;TEST_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  set(benches ${sources})
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$|/main\\.cc$")
  if(arg_TESTING)
    list(TRANSFORM arg_TESTING PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(REMOVE_ITEM sources ${arg_TESTING})
  endif()
  add_library(weir_${name} STATIC ${sources} ${arg_UNPARSED_ARGUMENTS})
  list(TRANSFORM arg_DEPS PREPEND weir_ OUTPUT_VARIABLE deps)
  target_link_libraries(weir_${name} PUBLIC weir_flags ${deps} ${arg_LIBS} weir_asio)
  weir_use_pch(weir_${name})
  list(TRANSFORM deps APPEND _testing)
  if(arg_TESTING)
    add_library(weir_${name}_testing STATIC EXCLUDE_FROM_ALL ${arg_TESTING})
    target_link_libraries(weir_${name}_testing PUBLIC weir_${name} ${deps})
    weir_use_pch(weir_${name}_testing)
  else()
    add_library(weir_${name}_testing INTERFACE)
    target_link_libraries(weir_${name}_testing INTERFACE weir_${name} ${deps})
  endif()
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE
      weir_${name}_testing GTest::gtest GTest::gtest_main ${arg_TEST_LIBS})
    weir_use_pch(${name}_test)
    add_test(NAME ${name}_test COMMAND ${name}_test)
    set_tests_properties(${name}_test PROPERTIES TIMEOUT 600)
  endif()
  if(benches)
    add_executable(${name}_bench EXCLUDE_FROM_ALL ${benches})
    target_link_libraries(${name}_bench PRIVATE weir_${name}_testing benchmark::benchmark_main)
    weir_use_pch(${name}_bench)
    add_dependencies(benches ${name}_bench)
  endif()
  weir_fuzz_targets(${name})
endfunction()

# Every x_fuzz.cc defines LLVMFuzzerTestOneInput and has its corpus in tests/fuzz_corpus/x. With WEIR_FUZZ it becomes a
# libFuzzer binary, otherwise one that replays the corpus with cuts and flipped bits; either way the replay is a test.
function(weir_fuzz_targets name)
  file(GLOB_RECURSE fuzzers CONFIGURE_DEPENDS *_fuzz.cc)
  foreach(source ${fuzzers})
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" corpus ${target})
    set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz_corpus/${corpus})
    if(WEIR_FUZZ)
      add_executable(${target} ${source})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
      add_test(NAME ${target}_corpus COMMAND ${target} -runs=0 ${corpus})
    else()
      add_executable(${target} ${source} ${CMAKE_SOURCE_DIR}/tests/fuzz_corpus/replay_main.cc)
      add_test(NAME ${target}_corpus COMMAND ${target} ${corpus})
    endif()
    set_tests_properties(${target}_corpus PROPERTIES TIMEOUT 600)
    target_link_libraries(${target} PRIVATE weir_${name}_testing)
    weir_use_pch(${target})
  endforeach()
endfunction()
