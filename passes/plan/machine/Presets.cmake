# Writes the presets as string literals: {"a100", R"json(...)json"},
set(text "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} json)
  string(APPEND text "{\"${name}\", R\"json(${json})json\"},\n")
endforeach()
file(WRITE ${OUT} "${text}")
