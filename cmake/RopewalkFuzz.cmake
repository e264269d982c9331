# fuzz/<name>_fuzz.cc makes one libFuzzer executable. As a test it runs for a short while from its seeds in
# fuzz/corpus/<name>/, if it has any; run the executable itself to search for longer.

enable_testing()
target_compile_options(ropewalk_options INTERFACE -fsanitize=fuzzer-no-link)

file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc")
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin" CXX_EXTENSIONS OFF)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ropewalk ropewalk_options)

  string(REGEX REPLACE "_fuzz$" "" corpus "${name}")
  set(seeds "${PROJECT_SOURCE_DIR}/fuzz/corpus/${corpus}")
  set(found "${PROJECT_BINARY_DIR}/corpus/${corpus}") # libFuzzer writes what it finds to the first folder
  file(MAKE_DIRECTORY "${found}")
  if(NOT IS_DIRECTORY "${seeds}")
    set(seeds "")
  endif()
  add_test(NAME fuzz.${corpus} COMMAND ${name} -max_total_time=30 -rss_limit_mb=2048 "${found}" ${seeds})
endforeach()
