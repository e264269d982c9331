# Every *_test.cc beside its source goes into one executable per folder of ropewalk/, and cli/'s into one
# more; each tests/*.cc is a whole-program test of its own, told by ROPEWALK_PROGRAM where the command is. Checks of the tree itself come last.

enable_testing()
include(GoogleTest)
find_package(GTest REQUIRED)

ropewalk_sources(testing_sources ropewalk/testing/*.cc)
if(testing_sources)
  add_library(ropewalk_testing STATIC ${testing_sources})
  set_target_properties(ropewalk_testing PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_definitions(ropewalk_testing PRIVATE ROPEWALK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(ropewalk_testing PRIVATE ropewalk ropewalk_options ${ropewalk_dependencies}
                                                 nlohmann_json::nlohmann_json GTest::gmock)
endif()

file(GLOB_RECURSE unit_tests RELATIVE "${PROJECT_SOURCE_DIR}/ropewalk" CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/ropewalk/*_test.cc")
set(folders "${unit_tests}")
list(TRANSFORM folders REPLACE "/.*" "")
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  set(sources "${unit_tests}")
  list(FILTER sources INCLUDE REGEX "^${folder}/")
  list(TRANSFORM sources PREPEND "${PROJECT_SOURCE_DIR}/ropewalk/")
  ropewalk_test(${folder} ${sources})
endforeach()

file(GLOB_RECURSE cli_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/*_test.cc")
if(cli_tests AND TARGET ropewalk_cli_parts)
  ropewalk_test(cli ${cli_tests})
  target_link_libraries(test_cli PRIVATE ropewalk_cli_parts)
endif()

file(GLOB program_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*.cc")
foreach(source IN LISTS program_tests)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "_test$" "" name "${name}")
  ropewalk_test(program_${name} ${source})
  if(TARGET ropewalk_cli)
    target_compile_definitions(test_program_${name} PRIVATE ROPEWALK_PROGRAM="$<TARGET_FILE:ropewalk_cli>")
    add_dependencies(test_program_${name} ropewalk_cli)
  endif()
endforeach()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(scripts "${PROJECT_SOURCE_DIR}/scripts")
add_test(NAME tree.include_lint COMMAND Python3::Interpreter "${scripts}/include_lint.py")
add_test(NAME tree.include_lint_catches COMMAND Python3::Interpreter "${scripts}/include_lint_test.py")
add_test(NAME tree.format COMMAND "${scripts}/format.sh")
set_tests_properties(tree.format PROPERTIES SKIP_RETURN_CODE 77)
