# Copies `headers` from `source` to include/xylem/. Their includes "FOLDER/..." become
# "xylem/FOLDER/...", so that they never find a program's own folder base/ or wire/.
set(include "${CMAKE_INSTALL_PREFIX}/include/xylem")
foreach(header IN LISTS headers)
  file(READ "${source}/${header}" text)
  string(REGEX REPLACE "(#include \")([a-z]+/)" "\\1xylem/\\2" text "${text}")
  if(header STREQUAL "frontend/tree.h")
    # For programs that do not use the CMake package. (That defines the path also if the package was
    # moved.)
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
