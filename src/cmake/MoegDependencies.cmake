# Libraries.
find_package(MoegLinalg REQUIRED COMPONENTS LAPACKE)
find_package(GSL 2.7 REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
# The OpenMP run-time library for programs that link the static library: GCC's by its name, which is found by any
# compiler, another's by its path, which only that compiler may know.
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    set(MOEG_OPENMP_LIBRARIES ${OpenMP_C_LIB_NAMES})
else()
    set(MOEG_OPENMP_LIBRARIES ${OpenMP_C_LIBRARIES})
endif()
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
mark_as_advanced(RANDOM123_INCLUDE_DIR)
