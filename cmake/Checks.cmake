# Checks that are compiled into everything below, tests included. They cost
# time, so tools/dev/sanitize builds with them in a folder of its own:
#
#   SHARDC_ASSERTIONS=ON                 assertions, the standard library's too
#   SHARDC_SANITIZE=address,undefined    or thread
#
# Libraries that come compiled (LLVM, ONNX, oneDNN, OpenMP) are without.
option(SHARDC_ASSERTIONS "Compile assertions in" OFF)
set(SHARDC_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

if(SHARDC_ASSERTIONS)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-UNDEBUG>
                      $<$<COMPILE_LANGUAGE:CXX>:-D_GLIBCXX_ASSERTIONS>)
endif()
if(SHARDC_SANITIZE)
  # The compiler has no RTTI, which vptr needs.
  add_compile_options(-fsanitize=${SHARDC_SANITIZE} -fno-sanitize=vptr
                      -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${SHARDC_SANITIZE})
endif()
