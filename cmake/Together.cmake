# Some files of a target at a time are compiled as one (a unity build), in less
# than half of the time, so that names are theirs alone.
function(shardc_compile_together target)
  if(NOT DEFINED CMAKE_UNITY_BUILD) # tools/dev/build --quick says it of all
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()
