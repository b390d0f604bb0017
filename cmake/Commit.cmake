# Writes HEADER: the commit of ROOT, empty where that is no clone.
execute_process(COMMAND git -C ${ROOT} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
# A source package may lie in somebody else's clone.
if(NOT EXISTS ${ROOT}/.git)
  set(commit "")
endif()
set(text "#define SHARDC_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${HEADER} "${text}")
endif()
