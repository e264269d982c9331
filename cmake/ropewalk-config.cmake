# find_package(ropewalk) gives ropewalk::ropewalk.
include("${CMAKE_CURRENT_LIST_DIR}/RopewalkDependencies.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/ropewalk-targets.cmake")
