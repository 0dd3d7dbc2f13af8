# OpenBLAS and LAPACKE as the targets moegeom::openblas and moegeom::lapacke; for the build and for the installed package.
# LAPACKE is a library of its own, as on Debian, or a part of OpenBLAS: both are tried.
include(FindPackageHandleStandardArgs)
include(CheckLibraryExists)
find_package(PkgConfig QUIET)

if(PKG_CONFIG_FOUND)
    pkg_check_modules(MOEG_OPENBLAS QUIET openblas)
    pkg_check_modules(MOEG_LAPACKE QUIET IMPORTED_TARGET lapacke)
endif()
find_library(MOEG_OPENBLAS_LIBRARY openblas HINTS ${MOEG_OPENBLAS_LIBRARY_DIRS})
mark_as_advanced(MOEG_OPENBLAS_LIBRARY)
if(MOEG_OPENBLAS_LIBRARY AND NOT MOEG_LAPACKE_FOUND)
    check_library_exists(${MOEG_OPENBLAS_LIBRARY} LAPACKE_dgesdd "" MOEG_OPENBLAS_HAS_LAPACKE)
endif()

if(MOEG_OPENBLAS_LIBRARY AND NOT TARGET moegeom::openblas)
    add_library(moegeom::openblas UNKNOWN IMPORTED)
    # libgslcblas, which GSL brings, has the same names. It is no need of OpenBLAS, but CMake puts what is needed behind
    # what needs it, and keeps no other order for certain.
    set_target_properties(moegeom::openblas PROPERTIES IMPORTED_LOCATION ${MOEG_OPENBLAS_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES "${MOEG_OPENBLAS_INCLUDE_DIRS}" INTERFACE_LINK_LIBRARIES GSL::gslcblas)
endif()
if(NOT TARGET moegeom::lapacke AND (MOEG_LAPACKE_FOUND OR MOEG_OPENBLAS_HAS_LAPACKE))
    add_library(moegeom::lapacke INTERFACE IMPORTED)
    target_link_libraries(moegeom::lapacke INTERFACE
        $<IF:$<BOOL:${MOEG_LAPACKE_FOUND}>,PkgConfig::MOEG_LAPACKE,moegeom::openblas>)
endif()

set(MoegLinalg_LAPACKE_FOUND FALSE)
if(TARGET moegeom::lapacke)
    set(MoegLinalg_LAPACKE_FOUND TRUE)
endif()
find_package_handle_standard_args(MoegLinalg HANDLE_COMPONENTS REQUIRED_VARS MOEG_OPENBLAS_LIBRARY
    REASON_FAILURE_MESSAGE "LAPACKE is looked for by pkg-config as lapacke, then in OpenBLAS itself")
