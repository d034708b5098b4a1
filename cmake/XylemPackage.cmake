# The installed package for people who build tools: one static library, the public headers under
# include/xylem/, and files with which CMake (find_package(xylem)) and pkg-config (xylem) find them.
# tests/install/ builds programs against this package.
include(CMakePackageConfigHelpers)

# Public headers include only one another, the standard library and no third-party headers.
# tests/install/ compiles each of them alone.
set(XYLEM_PUBLIC_HEADERS
  base/awaitable.h base/check.h base/clock.h base/ids.h base/interval_set.h base/result.h
  base/sha256.h
  wire/fields.h wire/packet.h wire/waves.h
  filters/aggregation.h filters/classes.h filters/concatenation.h filters/elementwise.h
  filters/histogram.h filters/matrix.h filters/moments.h filters/narrowing.h filters/plugin.h
  filters/plugin_adapter.h filters/quantiles.h filters/scatter.h filters/top.h
  frontend/tree.h frontend/wave.h
  backend/event_source.h backend/leaf.h)

# All folders that a tool's front end or leaf needs, in one archive. The linker takes what is used.
set(objects)
foreach(folder IN ITEMS base tree wire placement filters overlay net storage backend launch frontend)
  list(APPEND objects $<TARGET_OBJECTS:xylem_${folder}>)
endforeach()
add_library(xylem_archive STATIC ${objects})
set_target_properties(xylem_archive PROPERTIES OUTPUT_NAME xylem EXPORT_NAME archive
                                               LINKER_LANGUAGE CXX)
target_compile_features(xylem_archive INTERFACE cxx_std_20)
target_include_directories(xylem_archive INTERFACE $<INSTALL_INTERFACE:include>)
# Both CMake and pkg-config get these through pkg-config. Cap'n Proto's own CMake package would need
# the language C in the user's project.
set(XYLEM_NEEDS "capnp libzstd openssl sqlite3 spdlog fmt")
target_link_libraries(xylem_archive INTERFACE
  $<INSTALL_INTERFACE:PkgConfig::xylem_needs> Threads::Threads ${CMAKE_DL_LIBS})
install(TARGETS xylem_archive EXPORT xylemTargets ARCHIVE DESTINATION lib)

# A program links the part that it is: xylem::frontend, xylem::backend or xylem::filters. The part
# frontend also defines where xylem-commproc is.
foreach(part IN ITEMS frontend backend filters)
  add_library(xylem_package_${part} INTERFACE)
  target_link_libraries(xylem_package_${part} INTERFACE xylem_archive)
  set_target_properties(xylem_package_${part} PROPERTIES EXPORT_NAME ${part})
  install(TARGETS xylem_package_${part} EXPORT xylemTargets)
endforeach()

install(EXPORT xylemTargets NAMESPACE xylem:: DESTINATION lib/cmake/xylem)
configure_package_config_file(cmake/xylemConfig.cmake.in xylemConfig.cmake
                              INSTALL_DESTINATION lib/cmake/xylem)
write_basic_package_version_file(xylemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/xylemConfig.cmake ${PROJECT_BINARY_DIR}/xylemConfigVersion.cmake
        DESTINATION lib/cmake/xylem)
configure_file(cmake/xylem.pc.in xylem.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/xylem.pc DESTINATION lib/pkgconfig)

install(CODE "set(headers \"${XYLEM_PUBLIC_HEADERS}\")\nset(source \"${PROJECT_SOURCE_DIR}\")")
install(SCRIPT cmake/install_headers.cmake)

# Each public header has a manual page in section 3, made from the header itself.
string(JOIN " " headers ${XYLEM_PUBLIC_HEADERS})
install(CODE "execute_process(
  COMMAND \"${Python3_EXECUTABLE}\" cmake/header_page.py ${PROJECT_VERSION}
          \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man3\" ${headers}
  WORKING_DIRECTORY \"${PROJECT_SOURCE_DIR}\" COMMAND_ERROR_IS_FATAL ANY)")
