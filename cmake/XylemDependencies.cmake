# What the project stands on. Versions are those of design decisions: Boost 1.74 does not compile
# our coroutines.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(CapnProto REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
