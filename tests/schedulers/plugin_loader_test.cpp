#include "schedulers/plugin_loader.hpp"

#include "schedulers/component_error.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace dooly::schedulers {
namespace {

std::string refusal(const std::filesystem::path& path) {
  try {
    (void)load_plugin(path);
  } catch (const ComponentError& error) {
    return error.what();
  }
  return "(loaded)";
}

std::string fixture(const std::string& name) { return FIXTURES "/" + name + ".so"; }

TEST(LoadPlugin, AGoodOneShowsItsEntries) {
  const sdk::DoolyPlugin& plugin = load_plugin(fixture("good"));
  EXPECT_STREQ(plugin.name, "good");
  EXPECT_STREQ(plugin.version, "1.2.3");
  ASSERT_EQ(plugin.policies.size(), 1U);
  EXPECT_STREQ(plugin.policies[0].name, "idle");
  ASSERT_EQ(plugin.routers.size(), 1U);
  EXPECT_STREQ(plugin.routers[0].options[0].name, "offset");
  ASSERT_EQ(plugin.oracles.size(), 1U);
  EXPECT_EQ(&load_plugin(fixture("good")), &plugin);  // once per process
}

TEST(LoadPlugin, RelativePathsStartAtTheWorkingDirectory) {
  const auto relative = std::filesystem::relative(fixture("good"));
  EXPECT_STREQ(load_plugin(relative).name, "good");
}

TEST(LoadPlugin, AMissingFileIsNamed) {
  EXPECT_EQ(refusal("/nowhere/libmine.so"), "plug-in /nowhere/libmine.so: no such file");
  EXPECT_EQ(refusal(FIXTURES), "plug-in " FIXTURES ": is not a file");
}

TEST(LoadPlugin, AFileThatIsNoLibraryIsRefused) {
  const std::string path = testing::TempDir() + "/no-library.so";
  std::ofstream(path) << "text";
  EXPECT_EQ(refusal(path).rfind("plug-in " + path + ": does not load: ", 0), 0U) << refusal(path);
}

TEST(LoadPlugin, ALibraryWithoutTheExportIsRefused) {
  EXPECT_EQ(refusal(fixture("no_export")),
            "plug-in " + fixture("no_export") +
                ": is no Dooly plug-in: it exports no dooly_plugin(); see DOOLY_PLUGIN in dooly/sdk/plugin.hpp");
  EXPECT_EQ(refusal(fixture("returns_nothing")),
            "plug-in " + fixture("returns_nothing") + ": dooly_plugin() returned nothing");
}

TEST(LoadPlugin, AnotherAbiNumberIsRefusedWithBothNumbers) {
  EXPECT_EQ(refusal(fixture("other_abi")),
            "plug-in " + fixture("other_abi") + ": was built for ABI number 999 of the SDK, this program has " +
                std::to_string(sdk::kAbiNumber) + "; build it again with this program's SDK");
}

TEST(LoadPlugin, AnotherCompilerTagIsRefusedWithBothTags) {
  EXPECT_EQ(refusal(fixture("other_compiler")), "plug-in " + fixture("other_compiler") +
                                                    ": was built for 'vax other-library', this program for '" +
                                                    std::string(sdk::kCompilerTag) + "'");
}

TEST(LoadPlugin, WhatItOffersIsChecked) {
  const auto what = [](const std::string& name) {
    return refusal(fixture(name)).substr(("plug-in " + fixture(name) + ": ").size());
  };
  EXPECT_EQ(what("empty"), "offers no policy, router or oracle");
  EXPECT_EQ(what("bad_default"), "policy 'idle': the default of option 'alpha' must be at most 1, got 2");
  EXPECT_EQ(what("twice"), "policy 'idle' appears twice");
  EXPECT_EQ(what("no_factory"), "router 'nowhere' has no factory");
}

TEST(LoadPlugin, TheExamplesLoad) {
  const sdk::DoolyPlugin& plugin = load_plugin(EXAMPLES_PLUGIN);
  ASSERT_EQ(plugin.policies.size(), 1U);
  EXPECT_STREQ(plugin.policies[0].name, "shortest-job");
  ASSERT_EQ(plugin.routers.size(), 1U);
  EXPECT_STREQ(plugin.routers[0].name, "length_split");
}

}  // namespace
}  // namespace dooly::schedulers
