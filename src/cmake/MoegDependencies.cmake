# Libraries. OpenBLAS stands before GSL wherever both are linked: libgslcblas, which GSL pulls in, has the same names.
find_package(PkgConfig REQUIRED)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(LAPACKE REQUIRED IMPORTED_TARGET lapacke)
find_package(GSL 2.7 REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
