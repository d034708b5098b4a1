# Functions for the CMakeLists.txt of folders. Each folder has one call:
#
#   xylem_library(placement
#     SOURCES even.cc        # with their *_internal.h beside them
#     HEADERS even.h         # public: each must compile alone
#     USES    xylem::tree    # folders below, see docs/layers.txt
#     LINKS   PkgConfig::x)  # third-party, hidden in the sources

set(XYLEM_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                   -Wnon-virtual-dtor -Woverloaded-virtual)

function(xylem_warnings target)
  target_compile_options(${target} PRIVATE ${XYLEM_WARNINGS})
  if(XYLEM_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

function(xylem_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;USES;LINKS" ${ARGN})
  set(target xylem_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(xylem::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                                  FILES ${ARG_HEADERS})
  target_link_libraries(${target} PUBLIC ${ARG_USES} PRIVATE ${ARG_LINKS})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  xylem_warnings(${target})
endfunction()

# A program. It is installed to bin/, or with INTERNAL to libexec/xylem/, for programs that only
# xylem itself starts.
function(xylem_program name)
  cmake_parse_arguments(ARG "INTERNAL" "" "SOURCES;USES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_USES} ${ARG_LINKS})
  xylem_warnings(${name})
  if(ARG_INTERNAL)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${XYLEM_LIBEXEC_DIR})
    install(TARGETS ${name} DESTINATION libexec/xylem)
  else()
    install(TARGETS ${name} DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()
