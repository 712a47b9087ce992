#include "schedulers/plugin_template.hpp"

#include "schedulers/component_error.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace dooly::schedulers {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

fs::path fresh(const char* name) {
  const fs::path path = fs::path(testing::TempDir()) / name;
  fs::remove_all(path);
  return path;
}

TEST(WritePolicyTemplate, EveryPlaceHolderIsFilled) {
  const fs::path directory = fresh("my-policy");
  const auto files = write_policy_template("my-policy", directory);
  EXPECT_EQ(files.size(), 6U);
  for (const fs::path& file : files) {
    const std::string text = text_of(file);
    EXPECT_FALSE(text.empty()) << file;
    for (const char* mark : {"{{name}}", "{{Class}}", "{{identifier}}"})
      EXPECT_EQ(text.find(mark), std::string::npos) << file;
  }
  EXPECT_NE(text_of(directory / "policy.hpp").find("class MyPolicyPolicy final"), std::string::npos);
  EXPECT_NE(text_of(directory / "plugin.cpp").find(".name = \"my-policy\""), std::string::npos);
  EXPECT_NE(text_of(directory / "CMakeLists.txt").find("project(my_policy "), std::string::npos);
}

TEST(WriteRouterTemplate, EveryPlaceHolderIsFilled) {
  const fs::path directory = fresh("my-router");
  const auto files = write_router_template("my_2nd-one", directory);
  EXPECT_EQ(files.size(), 6U);
  for (const fs::path& file : files) {
    const std::string text = text_of(file);
    EXPECT_FALSE(text.empty()) << file;
    EXPECT_EQ(text.find("{{name}}"), std::string::npos) << file;
    EXPECT_EQ(text.find("{{Class}}"), std::string::npos) << file;
    EXPECT_EQ(text.find("{{identifier}}"), std::string::npos) << file;
  }
  EXPECT_NE(text_of(directory / "router.hpp").find("class My2ndOneRouter final"), std::string::npos);
  EXPECT_NE(text_of(directory / "plugin.cpp").find(".name = \"my_2nd-one\""), std::string::npos);
}

TEST(WriteRouterTemplate, NamesOfBuiltInRoutersAreTaken) {
  const fs::path directory = fresh("router-names");
  for (const char* name : {"round_robin", "prefix_aware", "Mine", ""})
    EXPECT_THROW(write_router_template(name, directory), ComponentError) << name;
  EXPECT_FALSE(fs::exists(directory));
  EXPECT_EQ(write_router_template("static", directory).size(), 6U);  // a policy is called so, no router
}

TEST(WritePolicyTemplate, AnExistingFolderOrFileIsLeftAlone) {
  const fs::path directory = fresh("taken");
  fs::create_directory(directory);
  EXPECT_THROW(write_policy_template("mine", directory), ComponentError);
  EXPECT_TRUE(fs::is_empty(directory));
  const fs::path file = fresh("taken-file");
  std::ofstream(file) << "mine";
  EXPECT_THROW(write_policy_template("mine", file), ComponentError);
  EXPECT_EQ(text_of(file), "mine");
}

TEST(WritePolicyTemplate, BadNamesAreRefusedBeforeAnythingIsWritten) {
  const fs::path directory = fresh("bad-name");
  for (const char* name : {"", "Mine", "1st", "-a", "a b", "a/b", "../a", "a.b", "ü", "static", "vllm-v1"}) {
    EXPECT_THROW(write_policy_template(name, directory), ComponentError) << name;
  }
  EXPECT_THROW(write_policy_template(std::string(65, 'a'), directory), ComponentError);
  EXPECT_FALSE(fs::exists(directory));
}

TEST(WritePolicyTemplate, AFolderThatCannotBeMadeIsNamed) {
  const fs::path file = fresh("a-file");
  std::ofstream(file) << "x";
  try {
    write_policy_template("mine", file / "inside");
    FAIL() << "not refused";
  } catch (const ComponentError& error) {
    EXPECT_NE(std::string(error.what()).find((file / "inside").string()), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dooly::schedulers
