# Helpers for the compiler's libraries.

# A static library of the compiler: shardc_library(Name SOURCES a.cpp LINKS B).
# Libraries after the first reuse its precompiled MLIR headers. BY_FOLDER: files in
# two of its folders define the same names, so that, where files are compiled as one
# (tools/dev/build --quick), only those of one folder are.
function(shardc_library name)
  cmake_parse_arguments(ARG "BY_FOLDER" "" "SOURCES;LINKS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC shardc_settings ${ARG_LINKS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_precompile_headers(${name} REUSE_FROM ShardcPrecompiled)
  if(ARG_BY_FOLDER)
    set_target_properties(${name} PROPERTIES UNITY_BUILD_MODE GROUP)
    foreach(source ${ARG_SOURCES})
      get_filename_component(folder ${source} DIRECTORY)
      string(REPLACE "/" "_" group "in_${folder}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
  else()
    shardc_compile_together(${name})
  endif()
endfunction()
