# Copies `headers` from `source` to include/xylem/. Here they include one another by folder; there
# by <xylem/FOLDER/...>'s folder, so that a program's own "base/" or "wire/" is never meant.
set(include "${CMAKE_INSTALL_PREFIX}/include/xylem")
foreach(header IN LISTS headers)
  file(READ "${source}/${header}" text)
  string(REGEX REPLACE "(#include \")([a-z]+/)" "\\1xylem/\\2" text "${text}")
  if(header STREQUAL "frontend/tree.h")
    # Without CMake's package, which knows it also when it was moved.
    string(REPLACE "#pragma once\n" "#pragma once

#ifndef XYLEM_COMM_PROCESS
#define XYLEM_COMM_PROCESS \"${CMAKE_INSTALL_PREFIX}/libexec/xylem/xylem-commproc\"
#endif
" text "${text}")
  endif()
  get_filename_component(folder "${header}" DIRECTORY)
  file(MAKE_DIRECTORY "$ENV{DESTDIR}${include}/${folder}")
  message(STATUS "Installing: $ENV{DESTDIR}${include}/${header}")
  file(WRITE "$ENV{DESTDIR}${include}/${header}" "${text}")
endforeach()
