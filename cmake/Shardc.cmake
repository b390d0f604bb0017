# Helpers for the compiler's libraries.

# A static library of the compiler: shardc_library(Name SOURCES a.cpp LINKS B).
# Libraries after the first reuse its precompiled MLIR headers. APART: a file has
# names that another has, too, so that each is compiled by itself.
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
  else()
    shardc_compile_together(${name})
  endif()
endfunction()
