# Target docs: the public API as HTML in docs/html of the build tree. Any warning of Doxygen is an error.
find_package(Doxygen QUIET)
if(DOXYGEN_FOUND AND PROJECT_IS_TOP_LEVEL)
    configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${PROJECT_BINARY_DIR}/docs/Doxyfile @ONLY)
    set(doxygen Doxygen::doxygen ${PROJECT_BINARY_DIR}/docs/Doxyfile)
    add_custom_target(docs COMMAND ${doxygen} WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/docs
        COMMENT "Doxygen: docs/html/index.html" VERBATIM)
    if(MOEG_BUILD_TESTS)
        add_test(NAME check_docs COMMAND ${doxygen} WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/docs)
        set_tests_properties(check_docs PROPERTIES LABELS check TIMEOUT 300)
    endif()
endif()
