# What a builder may choose.
option(MOEG_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(MOEG_BUILD_EXAMPLES "Build the example programs" ${PROJECT_IS_TOP_LEVEL})
option(MOEG_WERROR "Treat warnings as errors" OFF)
set(MOEG_SANITIZE "" CACHE STRING "Sanitizers to build with, as address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
