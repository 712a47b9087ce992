#include "csv_table.hpp"

#include "oracle_import/import_error.hpp"
#include "profile_folder.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

namespace dooly::import_ {
namespace {

TEST(CsvTable, ReadsQuotesCrlfAndByteOrderMark) {
  CsvTable table(
      "\xEF\xBB\xBF"
      "a,b\r\n\"[1, 2]\",\"say \"\"x\"\"\"\r\n\r\n3,\r\n",
      "t.csv");
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.cell(table.column("a")), "[1, 2]");
  EXPECT_EQ(table.cell(table.column("b")), "say \"x\"");
  EXPECT_EQ(table.line(), 2u);
  ASSERT_TRUE(table.next());
  EXPECT_EQ(table.cell(0), "3");
  EXPECT_EQ(table.cell(1), "");
  EXPECT_EQ(table.line(), 4u);
  EXPECT_FALSE(table.next());
}

TEST(CsvTable, NamesTheLineOfARowOfAnotherWidth) {
  CsvTable table("a,b\n1,2\n1,2,3\n", "t.csv");
  ASSERT_TRUE(table.next());
  try {
    table.next();
    FAIL();
  } catch (const ImportError& error) {
    EXPECT_STREQ(error.what(), "t.csv:3: 3 cells, the header has 2");
  }
}

TEST(CsvTable, NamesAMissingColumn) {
  const CsvTable table("a,b\n", "t.csv");
  try {
    table.column("time_us");
    FAIL();
  } catch (const ImportError& error) {
    EXPECT_STREQ(error.what(), "t.csv:1: no column 'time_us'; the header has: a, b");
  }
}

TEST(CsvTable, RefusesEmptyFilesAndOpenQuotes) {
  EXPECT_THROW(CsvTable("", "t.csv"), ImportError);
  CsvTable table("a\n\"1\n", "t.csv");
  EXPECT_THROW(table.next(), ImportError);
}

TEST(FileBytes, UnpacksGzipAndNoticesACutOne) {
  const test::ProfileFolder folder;
  const auto path = folder.path() / "x.csv.gz";
  const std::string text(100000, 'q');
  gzFile out = gzopen(path.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  EXPECT_EQ(file_bytes(path), text);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 9);
  EXPECT_THROW(file_bytes(path), ImportError);
  EXPECT_THROW(file_bytes(folder.path() / "none"), ImportError);
}

}  // namespace
}  // namespace dooly::import_
