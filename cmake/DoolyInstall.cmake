# What `cmake --install` puts where, and the package that find_package(dooly) finds. schedulers/ adds dooly::sdk to the
# export set `dooly`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS dooly EXPORT dooly)
install(TARGETS dooly-profile OPTIONAL)  # which not every build makes: `dooly profile` says so
install(DIRECTORY "${PROJECT_SOURCE_DIR}/scenarios/" DESTINATION "${CMAKE_INSTALL_DATADIR}/dooly/scenarios"
  FILES_MATCHING PATTERN "*.yaml" PATTERN "src" EXCLUDE PATTERN "include" EXCLUDE
  PATTERN "plugin-*.yaml" EXCLUDE)  # whose libraries lie in a build
install(DIRECTORY "${PROJECT_SOURCE_DIR}/stores/" DESTINATION "${CMAKE_INSTALL_DATADIR}/dooly/stores"
  FILES_MATCHING PATTERN "*.jsonl.zst")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/dooly")
install(EXPORT dooly NAMESPACE dooly:: FILE dooly-targets.cmake DESTINATION "${package_dir}")
# Not at the top of the build, where find_package() would come upon a package that nobody installed.
set(package_files "${PROJECT_BINARY_DIR}/package")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/dooly-config.cmake.in" "${package_files}/dooly-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${package_files}/dooly-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${package_files}/dooly-config.cmake" "${package_files}/dooly-config-version.cmake"
  DESTINATION "${package_dir}")
