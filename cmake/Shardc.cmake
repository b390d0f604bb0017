# Helpers for the compiler's libraries.

# A static library of the compiler: shardc_library(Name SOURCES a.cpp LINKS B).
# Libraries after the first reuse its precompiled MLIR headers. Some files at a
# time are compiled as one (a unity build), in less than half of the time, so that
# names are theirs alone. APART: a file has names that another has, too.
function(shardc_library name)
  cmake_parse_arguments(ARG "APART" "" "SOURCES;LINKS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC shardc_settings ${ARG_LINKS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_precompile_headers(${name} REUSE_FROM ShardcPrecompiled)
  if(ARG_APART)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  elseif(NOT CMAKE_UNITY_BUILD) # tools/dev/build --quick: all of it, by more files
    set_target_properties(${name} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()
