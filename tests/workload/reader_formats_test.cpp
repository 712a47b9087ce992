#include "workload/trace_reader.hpp"

#include "support.hpp"
#include "trace_format.hpp"
#include "workload/workload_error.hpp"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <vector>

namespace dooly::workload {
namespace {

std::vector<TraceRow> rows_of(const std::string& bytes, const std::string& format = {}) {
  const auto reader = read_trace("trace", bytes, format);
  std::vector<TraceRow> rows;
  TraceRow row;
  while (reader->next(row)) rows.push_back(row);
  return rows;
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(compressBound(text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

const std::string kVidur = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,10,2\n1.25,20,3\n";

void expect_vidur(const std::vector<TraceRow>& rows) {
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].arrival_s, 0.5);
  EXPECT_EQ(rows[0].prompt_tokens, 10U);
  EXPECT_EQ(rows[1].arrival_s, 1.25);
  EXPECT_EQ(rows[1].output_tokens, 3U);
}

TEST(TraceFormats, Azure2023CountsFromTheFirstRow) {
  const auto rows = rows_of(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
      "2023-11-16 18:17:04.0319600,3180,8");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].arrival_s, 0.0);
  EXPECT_EQ(rows[1].arrival_s, 0.052);
  EXPECT_EQ(rows[1].prompt_tokens, 3180U);
  EXPECT_EQ(rows[1].output_tokens, 8U);
}

TEST(TraceFormats, Azure2024HasATimeZoneAndMayCrossMidnight) {
  const auto rows = rows_of(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 23:59:59.500000+00:00,2162,5\n"
      "2024-05-11 00:00:00+00:00,2399,6\n2024-05-11 02:00:01.25+02:00,76,15\n");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].arrival_s, 0.5);
  EXPECT_EQ(rows[2].arrival_s, 1.75);
}

TEST(TraceFormats, DatesAreReadExactly) {
  EXPECT_EQ(parse_date_time("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(parse_date_time("2023-11-16 18:17:03.9799600"), 1700158623979960000);  // date -u -d … +%s
  EXPECT_EQ(parse_date_time("2024-02-29T00:00:00Z"), 1709164800000000000);
  for (const char* bad : {"", "2023-11-16", "2023-13-16 00:00:00", "2023-11-16 25:00:00", "2023-11-16 18:17:03.",
                          "2023-11-16 18:17:03+", "2023-11-16 18:17:03 ", "1700158623", "2023-11-16 18:17:03+0x:00"})
    EXPECT_EQ(parse_date_time(bad), std::nullopt) << bad;
}

TEST(TraceFormats, MooncakeIsInMillisecondsWithBlocksOf512) {
  const auto rows =
      rows_of("{\"timestamp\": 27482, \"input_length\": 1000, \"output_length\": 52, \"hash_ids\": [46, 47]}\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].arrival_s, 27.482);
  EXPECT_EQ(rows[0].prompt_tokens, 1000U);
  EXPECT_EQ(rows[0].output_tokens, 52U);
  EXPECT_EQ(rows[0].block_size, 512U);
  EXPECT_EQ(rows[0].block_ids, (std::vector<std::uint64_t>{46, 47}));
}

TEST(TraceFormats, BurstGptPassesOverFailedRequestsAndCountsThem) {
  const auto reader = read_trace("trace",
                                 "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                                 "5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,0,1087,API log\n"
                                 "118,\"Chat, GPT\",417,276,693,Conversation log\n");
  TraceRow row;
  ASSERT_TRUE(reader->next(row));
  EXPECT_EQ(row.arrival_s, 5.0);
  EXPECT_EQ(row.prompt_tokens, 472U);
  ASSERT_TRUE(reader->next(row));
  EXPECT_EQ(row.arrival_s, 118.0);
  EXPECT_EQ(row.output_tokens, 276U);
  EXPECT_EQ(row.row, 3U);
  EXPECT_FALSE(reader->next(row));
  EXPECT_EQ(reader->skipped(), 1U);
}

TEST(TraceFormats, Vidur) { expect_vidur(rows_of(kVidur)); }

TEST(TraceFormats, LlmServingSimWithAndWithoutBlocks) {
  const auto rows = rows_of(
      "{\"input_toks\":40,\"output_toks\":5,\"arrival_time_ns\":46926808,\"hash_ids\":[1,2]}\n"
      "{\"input_toks\":40,\"output_toks\":5,\"arrival_time_ns\":46926809}\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].arrival_s, 46926808 / 1e9);
  EXPECT_EQ(rows[0].block_size, 16U);
  EXPECT_EQ(rows[0].block_ids.size(), 2U);
  EXPECT_TRUE(rows[1].block_ids.empty());
}

TEST(TraceFormats, ShareGptHasNoTimes) {
  const auto reader =
      read_trace("trace", "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n74,918,992,0.08\n");
  EXPECT_FALSE(reader->columns().arrival);
  EXPECT_EQ(reader->format(), "sharegpt");
  TraceRow row;
  ASSERT_TRUE(reader->next(row));
  EXPECT_FALSE(row.arrival_s.has_value());
  EXPECT_EQ(row.output_tokens, 918U);
}

TEST(TraceFormats, Apex) {
  const auto rows = rows_of("start_time_offset_ns,context_tokens,generated_tokens\n244544756,156,67\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].arrival_s, 244544756 / 1e9);
}

TEST(TraceFormats, VllmBenchResultIsSortedByStart) {
  const auto rows = rows_of(R"({"date": "x", "num_prompts": 2, "input_lens": [10, 20], "output_lens": [3, 4],
    "ttfts": [0.1, 0.2], "itls": [[0.1, 0.2], []], "generated_texts": ["a \"input_lens\": [", "b"],
    "start_times": [100.5, 100.25]})");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].arrival_s, 0.0);
  EXPECT_EQ(rows[0].prompt_tokens, 20U);
  EXPECT_EQ(rows[1].arrival_s, 0.25);
  EXPECT_EQ(rows[1].output_tokens, 3U);
}

TEST(TraceFormats, DoolyCsvHasAllOptionalFields) {
  const auto rows = rows_of(
      "# dooly-trace 1 block_size=16\n"
      "id,arrival_s,prompt_tokens,output_tokens,class,priority,session,turn,after_s,deadline_s,block_ids\n"
      "7,0.1,40,5,\"a, \"\"b\"\"\",-2,3,0,,9.5,1 2\n"
      "8,,60,5,,,3,1,2.5,,\"[1, 2, 3]\"\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].id, 7U);
  EXPECT_EQ(rows[0].arrival_s, 0.1);
  EXPECT_EQ(rows[0].class_name, "a, \"b\"");
  EXPECT_EQ(rows[0].priority, -2);
  EXPECT_EQ(rows[0].session, 3U);
  EXPECT_EQ(rows[0].deadline_s, 9.5);
  EXPECT_EQ(rows[0].block_size, 16U);
  EXPECT_EQ(rows[0].block_ids, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_FALSE(rows[1].arrival_s.has_value());
  EXPECT_EQ(rows[1].after_s, 2.5);
  EXPECT_EQ(rows[1].block_ids, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(TraceFormats, DoolyJsonLines) {
  const auto rows = rows_of(
      "# dooly-trace 1 block_size=16\n"
      "{\"arrival_s\":0.1,\"prompt_tokens\":32,\"output_tokens\":5,\"class\":\"caf\\u00e9\",\"block_ids\":[ 1 , 2 ]}\n"
      "{\"arrival_s\":1,\"prompt_tokens\":32,\"output_tokens\":5,\"prefix_id\":4,\"prefix_tokens\":32,\"id\":null}\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].class_name, "caf\xC3\xA9");
  EXPECT_EQ(rows[0].block_ids.size(), 2U);
  EXPECT_EQ(rows[1].prefix_id, 4U);
  EXPECT_EQ(rows[1].prefix_tokens, 32U);
}

TEST(TraceFormats, FormatsAreDetectedAndCheckedByName) {
  EXPECT_EQ(read_trace("trace", kVidur)->format(), "vidur");
  EXPECT_EQ(read_trace("trace", kVidur, "vidur")->format(), "vidur");
  EXPECT_EQ(test::error_of([] { read_trace("trace", kVidur, "apex"); }), "trace: is of format vidur, not apex");
  EXPECT_NE(
      test::error_of([] { read_trace("trace", kVidur, "vidr"); }).find("unknown trace format 'vidr'; known: azure"),
      std::string::npos);
}

TEST(TraceText, AnyLineEndMarkAndPackingReadsAlike) {
  std::string crlf = kVidur;
  for (std::size_t at = 0; (at = crlf.find('\n', at)) != crlf.npos; at += 2) crlf.replace(at, 1, "\r\n");
  expect_vidur(rows_of(crlf));
  expect_vidur(rows_of("\xEF\xBB\xBF" + kVidur));
  expect_vidur(rows_of(kVidur.substr(0, kVidur.size() - 1)));
  expect_vidur(rows_of(kVidur + "\n\n"));
  expect_vidur(rows_of(gzip(kVidur)));
  expect_vidur(rows_of(zstd(kVidur)));
  expect_vidur(rows_of(gzip("\xEF\xBB\xBF" + crlf)));
}

TEST(TraceText, ArchivesInSeveralPartsAreReadWhole) {
  const std::string head = kVidur.substr(0, 60), tail = kVidur.substr(60);
  expect_vidur(rows_of(gzip(head) + gzip(tail)));
  expect_vidur(rows_of(zstd(head) + zstd(tail)));
  expect_vidur(rows_of(gzip(kVidur) + std::string(512, '\0')));
}

TEST(TraceText, TruncatedArchivesAreRefused) {
  std::string text = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + "," + std::to_string(1 + i * 7919 % 4001) + ",2\n";
  for (const bool is_gzip : {true, false}) {
    const std::string packed = is_gzip ? gzip(text) : zstd(text);
    for (const std::size_t cut : {packed.size() - 1, packed.size() / 2, std::size_t{12}})
      EXPECT_EQ(
          test::error_of([&] { rows_of(packed.substr(0, cut), "vidur"); }),
          std::string("trace: truncated ") + (is_gzip ? "gzip" : "zstd") + " archive: it ends before its end marker")
          << cut;
  }
}

TEST(TraceText, DamagedArchivesAreRefused) {
  std::string packed = gzip(kVidur);
  packed[packed.size() - 6] ^= 1;  // its checksum
  EXPECT_EQ(test::error_of([&] { rows_of(packed); }), "trace: damaged gzip archive: incorrect data check");
  EXPECT_NE(test::error_of([&] { rows_of(gzip(kVidur) + "garbage"); }).find("damaged gzip archive"), std::string::npos);
}

}  // namespace
}  // namespace dooly::workload
