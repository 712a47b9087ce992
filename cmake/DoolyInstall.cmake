# What `cmake --install` puts where, and the package that find_package(dooly) finds. schedulers/ adds dooly::sdk to the
# export set `dooly`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS dooly EXPORT dooly)
install(TARGETS dooly-profile OPTIONAL)  # which not every build makes: `dooly profile` says so
install(DIRECTORY "${PROJECT_SOURCE_DIR}/scenarios/" DESTINATION "${CMAKE_INSTALL_DATADIR}/dooly/scenarios"
  FILES_MATCHING PATTERN "*.yaml" PATTERN "src" EXCLUDE PATTERN "include" EXCLUDE
  PATTERN "plugin-*.yaml" EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/stores/" DESTINATION "${CMAKE_INSTALL_DATADIR}/dooly/stores"
  FILES_MATCHING PATTERN "*.jsonl.zst")

# The examples' plug-in, and its scenario, which names the library where it lies then.
install(TARGETS examples_plugin OPTIONAL LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/dooly/plugins")
file(RELATIVE_PATH plugin_folder "${CMAKE_INSTALL_FULL_DATADIR}/dooly/scenarios" "${CMAKE_INSTALL_FULL_LIBDIR}/dooly/plugins")
file(READ "${PROJECT_SOURCE_DIR}/scenarios/plugin-policy.yaml" text)
string(REPLACE "../build/release/plugins" "${plugin_folder}" text "${text}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/package/plugin-policy.yaml" CONTENT "${text}" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/plugin-policy.yaml" DESTINATION "${CMAKE_INSTALL_DATADIR}/dooly/scenarios")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scenarios/plugin-policy.yaml")

# Pages and the examples' sources, in the folders that they have here, so that links between them hold.
foreach(page LICENSE README.md CHANGELOG.md CONTRIBUTING.md stores/README.md profiling/README.md
    profiling/engine/README.md profiling/measure/README.md)
  get_filename_component(folder "${page}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/${page}" DESTINATION "${CMAKE_INSTALL_DOCDIR}/${folder}")
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING
  PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/schedulers/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}/schedulers")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/dooly")
install(EXPORT dooly NAMESPACE dooly:: FILE dooly-targets.cmake DESTINATION "${package_dir}")
# Not at the top of the build, where find_package() would come upon a package that nobody installed.
set(package_files "${PROJECT_BINARY_DIR}/package")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/dooly-config.cmake.in" "${package_files}/dooly-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${package_files}/dooly-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${package_files}/dooly-config.cmake" "${package_files}/dooly-config-version.cmake"
  DESTINATION "${package_dir}")
