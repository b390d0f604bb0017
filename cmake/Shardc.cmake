# Helpers for the compiler's libraries.

# A static library of the compiler: shardc_library(Name SOURCES a.cpp LINKS B).
# Libraries after the first reuse its precompiled MLIR headers.
function(shardc_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC shardc_settings ${ARG_LINKS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_precompile_headers(${name} REUSE_FROM ShardcPrecompiled)
endfunction()

# Runs tablegen on a .td: shardc_tablegen(Out.h.inc In.td -gen-op-decls ...).
function(shardc_tablegen target output input)
  set(LLVM_TARGET_DEFINITIONS ${input})
  mlir_tablegen(${output} ${ARGN} EXTRA_INCLUDES ${CMAKE_SOURCE_DIR})
  set(TABLEGEN_OUTPUT ${TABLEGEN_OUTPUT} PARENT_SCOPE)
endfunction()
