# Everything Ropewalk links, found once. Included by the build and, installed, by the package config:
# a static library hands its private dependencies on to whoever links it.
#
# All of it comes from Debian packages; scripts/packages.txt names them.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(PkgConfig REQUIRED)

if(NOT TARGET PkgConfig::ropewalk_hwy)
  pkg_check_modules(ropewalk_hwy REQUIRED IMPORTED_TARGET GLOBAL libhwy)
endif()
if(NOT TARGET PkgConfig::ropewalk_pcre2)
  pkg_check_modules(ropewalk_pcre2 REQUIRED IMPORTED_TARGET GLOBAL libpcre2-8)
endif()
if(NOT TARGET PkgConfig::ropewalk_utf8proc)
  pkg_check_modules(ropewalk_utf8proc REQUIRED IMPORTED_TARGET GLOBAL libutf8proc)
endif()

set(ropewalk_dependencies Threads::Threads fmt::fmt SQLite::SQLite3 PkgConfig::ropewalk_hwy
                          PkgConfig::ropewalk_pcre2 PkgConfig::ropewalk_utf8proc)

# oneDNN brings GNU's OpenMP runtime with it; the fuzz build uses clang and takes neither.
if(NOT ROPEWALK_FUZZ)
  find_package(OpenMP REQUIRED COMPONENTS CXX)

  # Looked up by hand: oneDNN's own package config demands OpenCL headers that Debian does not pull in.
  if(NOT TARGET ropewalk_dnnl::dnnl)
    find_path(ROPEWALK_DNNL_INCLUDE_DIR dnnl.hpp)
    find_library(ROPEWALK_DNNL_LIBRARY dnnl)
    mark_as_advanced(ROPEWALK_DNNL_INCLUDE_DIR ROPEWALK_DNNL_LIBRARY)
    if(NOT ROPEWALK_DNNL_INCLUDE_DIR OR NOT ROPEWALK_DNNL_LIBRARY)
      message(FATAL_ERROR "oneDNN not found: install libdnnl-dev (or run scripts/build.sh)")
    endif()
    add_library(ropewalk_dnnl::dnnl UNKNOWN IMPORTED GLOBAL)
    set_target_properties(
      ropewalk_dnnl::dnnl PROPERTIES IMPORTED_LOCATION "${ROPEWALK_DNNL_LIBRARY}"
                                     INTERFACE_INCLUDE_DIRECTORIES "${ROPEWALK_DNNL_INCLUDE_DIR}")
  endif()
  list(APPEND ropewalk_dependencies OpenMP::OpenMP_CXX ropewalk_dnnl::dnnl)
endif()
