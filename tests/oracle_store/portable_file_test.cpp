#include "oracle_store/portable_file.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle/sha256.hpp"
#include "oracle_store/sources.hpp"
#include "portable_line.hpp"
#include "random_store.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

namespace dooly::store {
namespace {

using test::message_of;
using test::Scratch;
using test::text_of;

std::string decompressed(const std::filesystem::path& file) {
  const std::string bytes = text_of(file);
  std::string text(1 << 22, '\0');
  text.resize(ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size()));
  return text;
}

void write_text(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

std::vector<Record> few_records() {
  const std::string environment = oracle::environment_id(test_environment());
  const oracle::Signature signature = oracle::signature_of(test_key());
  return {EnvironmentRecord{environment, test_environment()}, KeyRecord{signature, test_key()},
          SampleRecord{environment, signature, test_sample(64)}, SampleRecord{environment, signature, test_sample(128)},
          PlanRecord{{"llama", "{}"}}};
}

TEST(PortableFile, LooksAsDocumented) {
  const Scratch scratch;
  write_portable(scratch / "f", few_records());
  const std::string id = oracle::environment_id(test_environment()), signature = oracle::signature_of(test_key()).hex();
  EXPECT_EQ(decompressed(scratch / "f").substr(0, decompressed(scratch / "f").rfind("{")),
            R"({"format":"dooly-store","record":"header","version":1})"
            "\n"
            R"({"environment":{"cuda":"","driver":"","gpu":"H200-SXM","libraries":{"vllm":"0.26.0"},"memory_bytes":0,)"
            R"("multiprocessors":132,"source":"measured","topology":""},"id":")" +
                id + R"(","record":"environment"})" + "\n" +
                R"({"key":{"attributes":{},"dims":[4096,6144],"dtypes":["bfloat16","bfloat16","bfloat16"],)"
                R"("family":"cublas","kind":"linear","request_dims":["m"]},"record":"operator","signature":")" +
                signature + "\"}\n" + R"({"count":30,"environment":")" + id +
                R"(","mean_s":0.0000125,"median_s":0.0000125,"min_s":0.0000125,"p10_s":0.0000125,"p90_s":0.0000125,)"
                R"("point":[64],"record":"sample","regime":"cool","signature":")" +
                signature + "\"}\n" + R"({"count":30,"environment":")" + id +
                R"(","mean_s":0.0000125,"median_s":0.0000125,"min_s":0.0000125,"p10_s":0.0000125,"p90_s":0.0000125,)"
                R"("point":[128],"record":"sample","regime":"cool","signature":")" +
                signature + "\"}\n" + R"({"json":{},"name":"llama","record":"plan"})" + "\n");
}

TEST(PortableFile, ExportAndImportAreInverse) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 40; ++i) {
    const Scratch scratch;
    const std::vector<Record> records = random_records(random, random() % 200);
    write_portable(scratch / "one", records);
    {
      SignatureStore store = SignatureStore::open(scratch / "store", SignatureStore::Mode::kCreate);
      PortableReader reader(scratch / "one");
      EXPECT_EQ(import_records(reader, store), records.size());
    }
    const auto stored = open_records(scratch / "store");
    ASSERT_EQ(all_records(*stored), records);
    write_portable(scratch / "two", all_records(*open_records(scratch / "store")));
    ASSERT_EQ(text_of(scratch / "one"), text_of(scratch / "two"));
  }
}

TEST(PortableFile, LinesRoundTripInAnySpelling) {
  std::mt19937_64 random(6);
  int plain = 0;
  for (const Record& record : random_records(random, 2000)) {
    const std::string line = portable_line(record);
    ASSERT_EQ(parse_portable_line(line), record) << line;
    const bool is_plain = std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c != '\\'; });
    if (const auto* sample = std::get_if<SampleRecord>(&record); sample != nullptr && is_plain) {
      SampleRecord fast;
      ASSERT_TRUE(parse_canonical_sample(line, fast)) << line;
      ASSERT_EQ(fast, *sample) << line;
      ++plain;
    }
    ASSERT_EQ(oracle::canonical_form(line, "line"), line);
    ASSERT_EQ(parse_portable_line(nlohmann::json::parse(line).dump(1)), record) << "the slow way";
  }
  EXPECT_GT(plain, 200);  // without escapes: read without a JSON parser
}

/// A wrong line is refused whether or not the fast way could have taken it.
TEST(PortableFile, WrongLinesAreRefused) {
  const std::string good = portable_line(few_records()[2]);
  EXPECT_NO_THROW(parse_portable_line(good));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    line.replace(line.find(from), from.size(), to);
    return line;
  };
  const std::string lines[] = {changed("\"count\":30", "\"count\":03"),
                               changed("\"count\":30", "\"count\":30."),
                               changed("\"count\":30", "\"count\":-1"),
                               changed("\"count\":30", "\"count\":4294967296"),
                               changed("\"count\":30", "\"count\":30,\"count\":30"),
                               changed("\"count\"", "\"cuont\""),
                               changed("[64]", "[64,]"),
                               changed("[64]", "[1,2,3,4,5,6,7,8]"),
                               changed("[64]", "[0.5]"),
                               changed("\"cool\"", "\"warm\""),
                               changed("0.0000125", "1.e5"),
                               changed("0.0000125", "nan"),
                               changed("0.0000125", ".5"),
                               changed("0.0000125", "00.5"),
                               changed("}",
                                       "} "
                                       "x"),
                               changed("\"regime\":\"cool\",", ""),
                               changed("\"regime\":\"cool\"", "\"status\":\"fine\""),
                               "",
                               "{}",
                               "[]",
                               "{\"record\":\"sample\"}",
                               "{\"record\":\"surprise\"}"};
  for (const std::string& line : lines) EXPECT_THROW(parse_portable_line(line), StoreError) << line;
}

TEST(PortableFile, PlainTextIsReadToo) {
  const Scratch scratch;
  write_portable(scratch / "f", few_records());
  write_text(scratch / "plain", decompressed(scratch / "f"));
  PortableReader reader(scratch / "plain");
  EXPECT_EQ(all_records(reader), few_records());
}

/// A space behind every separator, as other programs write JSON.
std::string spaced(const std::string& line) {
  std::string out;
  bool is_text = false;
  for (const char c : line) {
    out += c;
    if (c == '"') is_text = !is_text;  // these lines have no escapes
    if (!is_text && (c == ',' || c == ':')) out += ' ';
  }
  return out;
}

TEST(PortableFile, EveryLineMayBeSpaced) {
  const Scratch scratch;
  write_portable(scratch / "f", few_records());
  std::istringstream stream(decompressed(scratch / "f"));
  std::string text;
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line) && line.find("\"end\"") == std::string::npos; ++count)
    text += spaced(line) + "\n";
  EXPECT_EQ(text.substr(0, text.find('\n')), R"({"format": "dooly-store", "record": "header", "version": 1})");
  oracle::Sha256 hash;
  hash.update(text);
  text += spaced(R"({"lines":)" + std::to_string(count) + R"(,"record":"end","sha256":")" + hash.finish_hex() + "\"}") +
          "\n";
  write_text(scratch / "g", text);
  PortableReader reader(scratch / "g");
  EXPECT_EQ(all_records(reader), few_records());
}

/// False if reading fails; a file that reads must hold what it held.
bool reads(const std::filesystem::path& file) {
  try {
    PortableReader reader(file);
    EXPECT_EQ(all_records(reader), few_records());
    return true;
  } catch (const StoreError&) {
    return false;
  }
}

TEST(PortableFile, EveryFlippedByteIsFound) {
  const Scratch scratch;
  write_portable(scratch / "f", few_records());
  const std::string sound = text_of(scratch / "f"), plain = decompressed(scratch / "f");
  int harmless = 0;  // e.g. the window size in the head of the zstd frame
  for (std::size_t at = 0; at < sound.size(); ++at) {
    std::string text = sound;
    text[at] = static_cast<char>(text[at] ^ 0x04);
    write_text(scratch / "g", text);
    harmless += reads(scratch / "g");
  }
  EXPECT_LE(harmless, 3);
  for (std::size_t at = 0; at < plain.size(); ++at) {
    std::string text = plain;
    text[at] = static_cast<char>(text[at] ^ 0x01);
    write_text(scratch / "g", text);
    EXPECT_FALSE(reads(scratch / "g")) << at;
  }
}

TEST(PortableFile, DamageIsNamedByLine) {
  const Scratch scratch;
  write_portable(scratch / "f", few_records());
  const std::string plain = decompressed(scratch / "f"), file = (scratch / "g").string();
  std::vector<std::string> lines;
  std::istringstream stream(plain);
  for (std::string line; std::getline(stream, line);) lines.push_back(line + "\n");
  const auto complaint = [&](const std::vector<std::size_t>& order, const std::string& last = "") {
    std::string text;
    for (const std::size_t i : order) text += lines[i];
    write_text(file, text + last);
    return message_of<StoreError>([&] {
      PortableReader reader(file);
      all_records(reader);
    });
  };
  EXPECT_EQ(complaint({}), file + ":0: the file is empty");
  EXPECT_EQ(complaint({1, 2}), file +
                                   ": is no portable store: its first line should be "
                                   R"({"format":"dooly-store","record":"header","version":1})");
  EXPECT_EQ(complaint({}, "{\"format\":\"dooly-store\",\"version\":2}\n"),
            file + ": holds schema version 2, this program reads and writes version 1");
  EXPECT_EQ(complaint({0, 1, 2, 3}), file + ":4: the file is cut off: its last line is no checksum");
  EXPECT_EQ(complaint({0, 1, 2}, "{\"a"), file + ":4: the last line has no end");
  EXPECT_EQ(complaint({0, 1, 2, 3, 5, 6}), file + ":6: the checksum is of 6 lines, but 5 stand before it");
  EXPECT_NE(complaint({0, 1, 2, 4, 3}).find(":5: sample of "), std::string::npos);
  EXPECT_NE(complaint({0, 1, 2, 4, 3}).find("out of order"), std::string::npos);
  EXPECT_NE(complaint({0, 1, 2, 3, 3}).find("stands twice"), std::string::npos);
  EXPECT_NE(complaint({0, 2, 3}).find("its environment is not in the file"), std::string::npos);
  EXPECT_NE(complaint({0, 1, 3}).find("its operator is not in the file"), std::string::npos);
  EXPECT_EQ(complaint({0, 1, 2, 3, 4, 5, 6, 5}), file + ":8: more lines after the checksum");
  EXPECT_NE(complaint({0, 1}, "{\"record\":\"sample\"}\n").find(":3: environment: missing"), std::string::npos);
}

TEST(PortableFile, ACutFileIsFound) {
  const Scratch scratch;
  write_portable(scratch / "f", few_records());
  const std::string sound = text_of(scratch / "f");
  for (std::size_t size = 0; size < sound.size(); size += 3) {
    write_text(scratch / "g", sound.substr(0, size));
    EXPECT_THROW(
        {
          PortableReader reader(scratch / "g");
          all_records(reader);
        },
        StoreError)
        << size;
  }
}

TEST(PortableFile, AWriterThatDoesNotFinishLeavesNothing) {
  const Scratch scratch;
  {
    PortableWriter writer(scratch / "f");
    for (const Record& record : few_records()) writer.write(record);
    EXPECT_THROW(writer.write(few_records()[2]), StoreError);
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

/// What is said of a file whose last line is `end` of it; empty: it reads.
std::string with_end(const std::filesystem::path& file, const std::function<std::string(const std::string&)>& end) {
  write_portable(file, few_records());
  const std::string plain = decompressed(file);
  const std::size_t last = plain.rfind("{\"lines\":");
  write_text(file, plain.substr(0, last) + end(plain.substr(last, plain.find('\n', last) - last)) + "\n");
  try {
    PortableReader reader(file);
    EXPECT_EQ(all_records(reader), few_records());
    return "";
  } catch (const StoreError& error) {
    return error.what();
  }
}

TEST(PortableFile, ItsLastLineIsOfItsThreeMembersAlone) {
  const Scratch scratch;
  const std::filesystem::path file = scratch / "f";
  const auto replaced = [](std::string text, const std::string& what, const std::string& by) {
    return text.replace(text.find(what), what.size(), by);
  };
  const auto complaint = [&](const std::string& what, const std::string& by) {
    return with_end(file, [&](const std::string& end) { return replaced(end, what, by); });
  };
  const std::string at = file.string() + ":7: ";
  EXPECT_EQ(complaint("{", "{"), "");
  EXPECT_EQ(complaint("\"end\"", "\"\\u0065nd\""), "") << "another spelling";
  EXPECT_EQ(complaint("\"record\"", "\"recor\\u0064\""), "") << "another spelling";
  EXPECT_EQ(complaint("\"lines\":6", "\"lines\":6.0"), at + "lines: must be a whole number, got 6.0");
  EXPECT_EQ(complaint("\"record\"", "\"more\":1,\"record\""), at + "more: unknown");
  EXPECT_NE(complaint("\"record\"", "\"lines\":6,\"record\"").find("lines"), std::string::npos) << "twice";
}

TEST(PortableFile, AnOperatorWithoutWhatItsKindNeedsIsNamedByLine) {
  const Scratch scratch;
  oracle::OperatorKey key = test_key();
  key.dims.pop_back();
  const std::string file = (scratch / "f").string();
  const std::string line = portable_line(KeyRecord{oracle::signature_of(key), key});
  write_text(file, R"({"format":"dooly-store","record":"header","version":1})"
                   "\n" +
                       line + "\n");
  const std::string complaint = message_of<StoreError>([&] {
    PortableReader reader(file);
    all_records(reader);
  });
  EXPECT_TRUE(complaint.starts_with(file + ":2: operator ")) << complaint;
  EXPECT_TRUE(complaint.ends_with(": linear must have 2 dims at least, has 1")) << complaint;
}

TEST(Record, NamesArePrintable) {
  EXPECT_EQ(printable("H200 x2, NVLink \xc3\xa9"), "H200 x2, NVLink \xc3\xa9");
  EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f"), "a\\x1b[2Jb\\x0ac\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m")
      << "the same as ESC [";
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("ab\xc3\xa9"
                      "f",
                      3),
            "ab\xc3\xa9...");
  EXPECT_EQ(title(CommRecord{{"x\x1b", "{}"}}), "collectives x\\x1b");
}

}  // namespace
}  // namespace dooly::store
