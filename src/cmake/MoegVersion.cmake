# MOEG_VERSION, read from the one place that states it: include/moegeom/version.h.
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/include/moegeom/version.h lines REGEX "#define MOEG_VERSION_(MAJOR|MINOR|PATCH)")
set(numbers)
foreach(line IN LISTS lines)
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND numbers ${number})
endforeach()
list(JOIN numbers "." MOEG_VERSION)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/moegeom/version.h)
