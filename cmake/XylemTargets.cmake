# Functions for the CMakeLists.txt of folders. Each folder has one call:
#
#   xylem_library(placement
#     SOURCES even.cc        # with their *_internal.h beside them
#     HEADERS even.h         # public: each must compile alone
#     USES    xylem::tree    # folders below, see docs/layers.txt
#     LINKS   PkgConfig::x   # third-party, hidden in the sources
#     BATCH   6)             # so many sources are compiled as one, if most of the time goes into a header that all include

option(XYLEM_BATCHES "Compile several sources as one where BATCH says so" ON)

set(XYLEM_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                   -Wnon-virtual-dtor -Woverloaded-virtual)

function(xylem_warnings target)
  target_compile_options(${target} PRIVATE ${XYLEM_WARNINGS})
  if(XYLEM_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

function(xylem_library name)
  cmake_parse_arguments(ARG "" "BATCH" "SOURCES;HEADERS;USES;LINKS" ${ARGN})
  set(target xylem_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(xylem::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                                  FILES ${ARG_HEADERS})
  target_link_libraries(${target} PUBLIC ${ARG_USES} PRIVATE ${ARG_LINKS})
  # A source includes its own header first (tests/layers_test.py), so this header compiles alone. The build checks the
  # other headers: target all_verify_interface_header_sets.
  set(unverified ${ARG_HEADERS})
  if(ARG_BATCH AND XYLEM_BATCHES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ARG_BATCH})
  else()
    list(TRANSFORM ARG_SOURCES REPLACE "\\.cc$" ".h" OUTPUT_VARIABLE verified)
    list(REMOVE_ITEM unverified ${verified})
  endif()
  if(unverified)
    target_sources(${target} PUBLIC FILE_SET unverified TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                                    FILES ${unverified})
    set_target_properties(${target} PROPERTIES
      VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY unverified)
  endif()
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
