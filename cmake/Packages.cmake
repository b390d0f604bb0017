# Debian packages: `cpack --config build/CPackConfig.cmake -B FOLDER`, of what is
# built (tools/dev/deb). Dependencies are those that dpkg-shlibdeps finds.
#
#   shardc           the compiler
#   shardrun         the program that runs artifacts
#   libshardrt0      the runtime as a library
#   libshardrt-dev   to build programs with it
#   libshardrt-mpi   for mpirun: where rank 0 is, by MPI
#   libshardrt-ucx   for SHARDC_NETWORK=ucx
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shardc)
set(CPACK_PACKAGE_VENDOR shardc)
set(CPACK_PACKAGE_CONTACT "shardc <shardc@localhost>")
set(CPACK_PACKAGE_VERSION ${SHARDC_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENTS_ALL)

# debian_package(COMPONENT NAME SECTION DESCRIPTION [DEPENDS])
macro(debian_package component name section description)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}")
  if(${ARGC} GREATER 4)
    set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARGV4}")
  endif()
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE COMPONENT ${component}
    DESTINATION share/doc/${name} RENAME copyright)
endmacro()

debian_package(compiler shardc devel
  "Compiles ONNX transformers for many devices")
debian_package(runner shardrun misc
  "Runs transformers that shardc compiled for many devices")
debian_package(runtime libshardrt${SHARDC_SOVERSION} libs
  "Runs transformers that shardc compiled, as a library")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)
set(exactly "(= ${SHARDC_VERSION})")
debian_package(devel libshardrt-dev libdevel
  "Headers of libshardrt, for C and C++"
  "libshardrt${SHARDC_SOVERSION} ${exactly}")
if(TARGET shardrt_mpi)
  debian_package(mpi libshardrt-mpi libs
    "Plugin of shardrun and libshardrt for mpirun")
endif()
if(TARGET shardrt_ucx)
  debian_package(ucx libshardrt-ucx libs
    "Plugin of shardrun and libshardrt for networks with RDMA")
endif()
include(CPack)
