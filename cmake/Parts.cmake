# Refuses a part of somebody else's that is older than the lowest version that is
# tested (tests/dev/test_bounds.py). For parts without a CMake package, which
# find_package would have refused.
function(shardc_require_version name found lowest)
  if(found VERSION_LESS lowest)
    message(FATAL_ERROR
      "${name} is of version ${found}, expected ${lowest} or newer")
  endif()
endfunction()

# Of numbers that a header defines: PREFIX_MAJOR and so on, the last one by any
# of the names.
function(shardc_header_version out file prefix)
  set(version)
  foreach(part MAJOR MINOR "(PATCH|RELEASE)")
    file(STRINGS ${file} line REGEX "define +${prefix}_${part} +[0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+ *$" number "${line}")
    string(STRIP "${number}" number)
    list(APPEND version ${number})
  endforeach()
  list(JOIN version . version)
  set(${out} ${version} PARENT_SCOPE)
endfunction()
