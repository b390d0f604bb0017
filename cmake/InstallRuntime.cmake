# Installs the runtime: `cmake --install build --component NAME`.
#
#   runtime   libshardrt.so.0
#   runner    shardrun
#   devel     headers, libshardrt.so, the CMake package, pkg-config
#   mpi       what asks MPI for addresses, into lib/shardrt
#   ucx       what carries messages over UCX, into lib/shardrt
#   cuda      the backend for NVIDIA GPUs, into lib/shardrt
#
# All finds all beside it, wherever the prefix is moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(RELATIVE_PATH to_libraries
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(shardrt_shared PROPERTIES
  INSTALL_RPATH "$ORIGIN" EXPORT_NAME shardrt)
set_target_properties(shardrun PROPERTIES
  INSTALL_RPATH "$ORIGIN/${to_libraries}")
target_include_directories(shardrt_shared INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(shardrt_shared INTERFACE cxx_std_17)

install(TARGETS shardrun RUNTIME COMPONENT runner)
install(TARGETS shardrt_shared EXPORT shardrt
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT devel)
foreach(plugin mpi ucx cuda cudnn)
  if(TARGET shardrt_${plugin})
    string(REPLACE cudnn cuda component ${plugin})
    # As built: CMake cannot edit what flags of MPI have put there.
    set_target_properties(shardrt_${plugin} PROPERTIES
      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS shardrt_${plugin} LIBRARY DESTINATION lib/shardrt
      COMPONENT ${component})
  endif()
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shardrt)
set(made ${CMAKE_CURRENT_BINARY_DIR}/installed)
write_basic_package_version_file(${made}/shardrtConfigVersion.cmake
  VERSION ${SHARDC_VERSION} COMPATIBILITY SameMajorVersion)
file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/shardrt.pc.in ${made}/shardrt.pc @ONLY)
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/api/shardrt.h
  ${CMAKE_CURRENT_SOURCE_DIR}/api/shardrt_server.h
  ${CMAKE_CURRENT_SOURCE_DIR}/api/shardrt_statistics.h
  ${CMAKE_CURRENT_SOURCE_DIR}/api/client/shardrt.hpp
  ${CMAKE_CURRENT_SOURCE_DIR}/api/client/shardrt_server.hpp
  ${CMAKE_CURRENT_SOURCE_DIR}/api/client/shardrt_statistics.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT devel)
# It needs nothing of others, so the targets alone are the package.
install(EXPORT shardrt NAMESPACE shardrt:: FILE shardrtConfig.cmake
  DESTINATION ${package_dir} COMPONENT devel)
install(FILES ${made}/shardrtConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT devel)
install(FILES ${made}/shardrt.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT devel)
