# The version, as the C API's header says it, and the commit that is built.
#
#   SHARDC_VERSION, SHARDC_SOVERSION   "0.1.0", "0"
#   shardc_commit                      writes tools/version/Commit.h
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
file(STRINGS ${root}/runtime/api/shardrt.h version
  REGEX "SHARDRT_VERSION_(MAJOR|MINOR|PATCH) [0-9]")
string(REGEX REPLACE "[^0-9]+" "." version "${version}")
string(REGEX REPLACE "^[.]" "" SHARDC_VERSION "${version}")
string(REGEX MATCH "^[0-9]+" SHARDC_SOVERSION "${SHARDC_VERSION}")
set_property(DIRECTORY APPEND PROPERTY
  CMAKE_CONFIGURE_DEPENDS ${root}/runtime/api/shardrt.h)

set(SHARDC_GENERATED ${CMAKE_BINARY_DIR}/generated)
if(NOT TARGET shardc_commit)
  # Looked for in each build, and written where it is another one.
  add_custom_target(shardc_commit
    COMMAND ${CMAKE_COMMAND} -D ROOT=${root}
            -D HEADER=${SHARDC_GENERATED}/tools/version/Commit.h
            -P ${CMAKE_CURRENT_LIST_DIR}/Commit.cmake
    BYPRODUCTS ${SHARDC_GENERATED}/tools/version/Commit.h
    COMMENT "Which commit is built")
endif()
