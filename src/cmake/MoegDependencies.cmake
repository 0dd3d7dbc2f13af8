# Libraries. OpenBLAS stands before GSL wherever both are linked: libgslcblas, which GSL pulls in, has the same names.
find_package(MoegLinalg REQUIRED COMPONENTS OpenBLAS LAPACKE)
find_package(GSL 2.7 REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
mark_as_advanced(RANDOM123_INCLUDE_DIR)
