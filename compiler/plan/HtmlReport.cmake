# Writes a page as C++ string literals. Semicolons and brackets would be lists to CMake, so that it goes as hex digits.
file(READ ${FILE} page HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${page}")
file(WRITE ${OUT} "${bytes}")
