# Installation: headers, both libraries, a relocatable CMake package and a relocatable moegeom.pc.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/moegeom)

set_target_properties(moegeom_shared PROPERTIES EXPORT_NAME moegeom)
set_target_properties(moegeom_static PROPERTIES EXPORT_NAME static)
install(TARGETS moegeom_shared moegeom_static EXPORT moegeom-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/moegeom ${PROJECT_BINARY_DIR}/include/moegeom
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

install(EXPORT moegeom-targets NAMESPACE moegeom:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/moegeom-config.cmake.in
    ${PROJECT_BINARY_DIR}/package/moegeom-config.cmake INSTALL_DESTINATION ${package_dir}
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/moegeom-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/moegeom-config.cmake
    ${PROJECT_BINARY_DIR}/package/moegeom-config-version.cmake ${CMAKE_CURRENT_LIST_DIR}/FindMoegLinalg.cmake
    DESTINATION ${package_dir})

set(private_libraries ${MOEG_OPENMP_LIBRARIES} m)
if(MOEG_LAPACKE_FOUND)
    list(PREPEND private_libraries lapacke)
endif()
list(TRANSFORM private_libraries PREPEND "-l" REGEX "^[^/]")
list(JOIN private_libraries " " private_libraries)
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
file(RELATIVE_PATH libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/moegeom.pc.in ${PROJECT_BINARY_DIR}/package/moegeom.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/moegeom.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
