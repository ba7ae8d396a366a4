# weir_module(NAME DEPS ... LIBS ...): one static library per folder of src/, its *_test.cc in one test binary.
# DEPS are other modules (layers above only, see tools/check_layers.py), LIBS third-party libraries.

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
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

# One precompiled header for all modules: the standard library and Asio's coroutines.
file(WRITE ${CMAKE_BINARY_DIR}/pch_anchor.cc "// Carries the precompiled header.\n")
add_library(weir_pch OBJECT ${CMAKE_BINARY_DIR}/pch_anchor.cc)
target_link_libraries(weir_pch PRIVATE weir_flags)
target_precompile_headers(weir_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
# ccache needs PCH files without time stamps.
target_compile_options(weir_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")

add_library(weir_asio STATIC ${CMAKE_SOURCE_DIR}/cmake/asio_impl.cc)
target_link_libraries(weir_asio PUBLIC weir_flags)

function(weir_module name)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS;TEST_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$")
  add_library(weir_${name} STATIC ${sources} ${arg_UNPARSED_ARGUMENTS})
  list(TRANSFORM arg_DEPS PREPEND weir_ OUTPUT_VARIABLE deps)
  target_link_libraries(weir_${name} PUBLIC weir_flags ${deps} ${arg_LIBS} weir_asio)
  target_precompile_headers(weir_${name} REUSE_FROM weir_pch)
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE weir_${name} GTest::gtest GTest::gtest_main ${arg_TEST_LIBS})
    target_precompile_headers(${name}_test REUSE_FROM weir_pch)
    add_test(NAME ${name}_test COMMAND ${name}_test)
    set_tests_properties(${name}_test PROPERTIES TIMEOUT 60)
  endif()
  weir_fuzz_targets(${name})
endfunction()

# Every x_fuzz.cc defines LLVMFuzzerTestOneInput. With WEIR_FUZZ it becomes a libFuzzer binary; otherwise a test that
# replays the corpus in tests/fuzz_corpus/x and asserts that nothing crashes.
function(weir_fuzz_targets name)
  file(GLOB_RECURSE fuzzers CONFIGURE_DEPENDS *_fuzz.cc)
  foreach(source ${fuzzers})
    get_filename_component(target ${source} NAME_WE)
    if(WEIR_FUZZ)
      add_executable(${target} ${source})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
      add_executable(${target} ${source} ${CMAKE_SOURCE_DIR}/tests/fuzz_corpus/replay_main.cc)
      string(REGEX REPLACE "_fuzz$" "" corpus ${target})
      add_test(NAME ${target}_corpus COMMAND ${target} ${CMAKE_SOURCE_DIR}/tests/fuzz_corpus/${corpus})
      set_tests_properties(${target}_corpus PROPERTIES TIMEOUT 60)
    endif()
    target_link_libraries(${target} PRIVATE weir_${name})
    target_precompile_headers(${target} REUSE_FROM weir_pch)
  endforeach()
endfunction()
