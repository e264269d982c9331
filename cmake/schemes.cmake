# The registry's list of schemes, made from file names. A .cc of ropewalk/schemes/ is a scheme unless it has a header of
# its own or is a test; <name>.cc must define `SchemeInfo <name>_scheme()`.

file(GLOB scheme_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/ropewalk/schemes/*.cc")
file(GLOB scheme_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/ropewalk/schemes/*.h")
list(FILTER scheme_files EXCLUDE REGEX "_test\\.cc$")

set(scheme_declarations "")
set(scheme_calls "")
foreach(file IN LISTS scheme_files)
  string(REGEX REPLACE "\\.cc$" ".h" header "${file}")
  if(NOT header IN_LIST scheme_headers)
    cmake_path(GET file STEM name)
    string(APPEND scheme_declarations "SchemeInfo ${name}_scheme();\n")
    string(APPEND scheme_calls "      ${name}_scheme(),\n")
  endif()
endforeach()

# file(CONFIGURE) leaves an unchanged file untouched, so nothing is compiled again for it.
set(registered_schemes "${PROJECT_BINARY_DIR}/generated/registered_schemes.cc")
file(
  CONFIGURE
  OUTPUT "${registered_schemes}"
  CONTENT
    "// Made by cmake/schemes.cmake from the files of ropewalk/schemes/.
#include \"ropewalk/schemes/registry.h\"

namespace ropewalk {

@scheme_declarations@
std::vector<SchemeInfo> registered_schemes() {
  return {
@scheme_calls@  };
}

}  // namespace ropewalk
"
  @ONLY)
target_sources(ropewalk PRIVATE "${registered_schemes}")
