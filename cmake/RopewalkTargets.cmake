# How folders become targets.

# ropewalk_sources(<out> <pattern>...): the files that match below the project, without *_test.cc.
# Globs are checked again at each build, so a new file needs no edit here.
function(ropewalk_sources out)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${ARGN})
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  set(${out} "${files}" PARENT_SCOPE)
endfunction()

# ropewalk_test(<name> <source>...): one gtest executable; each of its tests is a ctest test called
# <name>.<Suite>.<Test>. Tests learn where things are from a definition and a variable:
#   ROPEWALK_SOURCE_DIR (definition)   the project's folder; ../shared is looked for beside it
#   ROPEWALK_SHARED (environment)      read at run time, instead of ../shared
function(ropewalk_test name)
  add_executable(test_${name} ${ARGN})
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests"
                                                CXX_EXTENSIONS OFF)
  target_compile_definitions(test_${name} PRIVATE ROPEWALK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(test_${name} PRIVATE ropewalk ropewalk_options ${ropewalk_dependencies}
                                             nlohmann_json::nlohmann_json GTest::gmock GTest::gtest_main)
  if(TARGET ropewalk_testing)
    target_link_libraries(test_${name} PRIVATE ropewalk_testing)
  endif()
  gtest_discover_tests(
    test_${name}
    TEST_PREFIX "${name}."
    NO_PRETTY_VALUES # a printed value may hold anything, an index is always a good name
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT ${ROPEWALK_TEST_TIMEOUT})
endfunction()
