# weir_schema(TARGET FOLDER f SCHEMAS a.schema... [API_TABLE] [CHECKS target]): C++ from schema files
# (docs/formats/schema-language.md). NNN_name.schema gives FOLDER/name.h below the generated include folder; its .cc is
# compiled into TARGET, the round-trip checks of its messages into CHECKS, a test executable or library.

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(WEIR_GENERATOR ${CMAKE_SOURCE_DIR}/src/kafka/protocol/gen)

add_custom_target(generated)  # all generated sources, for checks that compile nothing

function(weir_schema target)
  cmake_parse_arguments(arg "API_TABLE" "FOLDER;CHECKS" "SCHEMAS" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/generated)
  set(out ${root}/${arg_FOLDER})
  file(GLOB generator CONFIGURE_DEPENDS ${WEIR_GENERATOR}/*.py ${WEIR_GENERATOR}/weirgen/*.py)
  set(schemas)
  set(sources)
  set(headers)
  set(checks ${out}/check_table.cc)
  foreach(schema ${arg_SCHEMAS})
    get_filename_component(path ${schema} ABSOLUTE)
    get_filename_component(name ${schema} NAME_WE)
    string(REGEX REPLACE "^[0-9]+_" "" name ${name})
    list(APPEND schemas ${path})
    list(APPEND headers ${out}/${name}.h)
    list(APPEND sources ${out}/${name}.cc)
  endforeach()
  # weirgen.py puts the checks of eight schemas into one file.
  list(LENGTH schemas count)
  math(EXPR last "(${count} - 1) / 8")
  foreach(i RANGE ${last})
    list(APPEND checks ${out}/checks_${i}.cc)
  endforeach()
  set(options --root ${root} --folder ${arg_FOLDER})
  if(arg_API_TABLE)
    list(APPEND options --api-table)
    list(APPEND headers ${out}/api_key.h)
    list(APPEND sources ${out}/api_table.cc)
  endif()
  add_custom_command(
    OUTPUT ${headers} ${sources} ${checks}
    COMMAND ${Python3_EXECUTABLE} ${WEIR_GENERATOR}/weirgen.py ${options} ${schemas}
    DEPENDS ${schemas} ${generator}
    COMMENT "Generating ${arg_FOLDER}"
    VERBATIM)
  add_custom_target(${target}_generated DEPENDS ${headers} ${sources} ${checks})
  add_dependencies(generated ${target}_generated)
  target_sources(${target} PRIVATE ${headers} ${sources})
  if(arg_CHECKS)
    target_sources(${arg_CHECKS} PRIVATE ${checks})
  endif()
endfunction()
