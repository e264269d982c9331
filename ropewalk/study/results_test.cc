#include "ropewalk/study/results.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "ropewalk/base/error.h"
#include "ropewalk/study/merge.h"
#include "ropewalk/study/study_lock.h"

namespace ropewalk {
namespace {

constexpr int64_t kTrained = 4;

StudyFacts facts_of(size_t windows) {
  StudyFacts facts{.model = "m.gguf",
                   .description = "a model",
                   .trained_length = kTrained,
                   .target_length = 9,
                   .engine = "llama.cpp",
                   .precision = "f32",
                   .text = "a text",
                   .threads = 1,
                   .started = "2026-01-01T00:00:00Z",
                   .finished = "2026-01-01T00:01:00Z"};
  for (size_t w = 0; w < windows; ++w) {
    facts.windows.push_back({.document = "a.txt",
                             .first = static_cast<int64_t>(9 * w),
                             .tokens = 9,
                             .repeats = {{.first = 7, .length = 2, .distance = 2},
                                         {.first = 7, .length = 2, .distance = 5}}});
  }
  return facts;
}

SchemeFacts scheme_of(const std::string& name, bool portable) {
  return {.scheme = name,
          .engines = {{.engine = "llama.cpp", .portable = portable, .how = "so"}},
          .finalist = true,
          .distances = {1, 8},
          .effective = {1.0, std::nullopt},
          .inv_freq = {1.0, 0.1}};
}

// Losses of 8 tokens: `inside` for those predicted from positions below L, `beyond` past it.
Cell cell_of(double inside, double beyond) {
  return {.losses = {inside, inside, inside, inside, beyond, beyond, beyond, beyond},
          .seconds = 0.5};
}

StudyContents study_of(const std::vector<std::string>& schemes, size_t windows = 2) {
  StudyContents study{.path = "study.db",
                      .identity = {{"model", "m1"}, {"text", "t1"}},
                      .records = {{kFactsRecord, to_json(facts_of(windows))}}};
  double level = 0;
  for (const std::string& scheme : schemes) {
    study.records[kSchemeRecords + scheme] = to_json(scheme_of(scheme, scheme == "declared"));
    for (int64_t w = 0; w < static_cast<int64_t>(windows); ++w) {
      study.cells[{scheme, "plain", w}] = cell_of(1 + level, 5 - level);
      study.cells[{scheme, "repeated", w}] = cell_of(1, 2);
      study.cells[{scheme, "control", w}] = cell_of(1, 2.5 + level);
    }
    level += 0.25;
  }
  return study;
}

std::string said_of(const StudyContents& a, const StudyContents& b) {
  try {
    merged(a, b);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Results, CandidatesComeFromCellsAlone) {
  const std::vector<Candidate> candidates = candidates_of(study_of({"declared", "rope"}));
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0].scheme, "rope") << "less loss beyond";
  EXPECT_DOUBLE_EQ(candidates[0].inside->mean, 1.25);
  EXPECT_DOUBLE_EQ(candidates[0].beyond->mean, 4.75);
  EXPECT_DOUBLE_EQ(candidates[0].inside_cost->mean, 0.25);
  EXPECT_DOUBLE_EQ(candidates[0].copy_inside->mean, 0.75);
  EXPECT_DOUBLE_EQ(candidates[0].copy_beyond->mean, 0.75);
  EXPECT_DOUBLE_EQ(candidates[0].seconds, 3);
  EXPECT_EQ(candidates[0].tokens, 54);
  EXPECT_TRUE(candidates[0].finalist);
  EXPECT_FALSE(candidates[0].portability.portable);
  EXPECT_TRUE(candidates[1].portability.portable);
}

TEST(Results, CopyGainIsToldByDistance) {
  const StudyContents study = study_of({"declared"});
  const auto gains = copy_by_distance(study, study_facts(study), "declared");
  ASSERT_EQ(gains.size(), 2u);
  EXPECT_EQ(gains[0].distance, 2);
  EXPECT_EQ(gains[1].distance, 5);
  EXPECT_DOUBLE_EQ(gains[1].gain.mean, 0.5);
  EXPECT_EQ(gains[1].gain.count, 2);
}

TEST(Results, AnUnfinishedStudyHasThoseAsFinalistsThatRanAll) {
  StudyContents study = study_of({"declared", "rope"});
  StudyFacts facts = facts_of(2);
  facts.finished.clear();
  study.records[kFactsRecord] = to_json(facts);
  study.cells.erase({"rope", "plain", 1});
  const std::vector<Candidate> candidates = candidates_of(study);
  EXPECT_EQ(candidates[0].scheme, "declared");
  EXPECT_TRUE(candidates[0].finalist);
  EXPECT_FALSE(candidates[1].finalist);
  EXPECT_EQ(candidates[1].windows, 1u);
  EXPECT_DOUBLE_EQ(candidates[1].inside_cost->mean, 0.25) << "over the window that both ran";
}

TEST(Results, WindowsThatAreHeldOutAreToldApart) {
  StudyContents study = study_of({"declared", "rope"}, 3);
  StudyFacts facts = facts_of(3);
  facts.windows[1].held_out = true;
  study.records[kFactsRecord] = to_json(facts);
  study.cells[{"rope", "plain", 1}] = cell_of(2, 7);
  std::vector<Candidate> candidates = candidates_of(study);
  EXPECT_EQ(candidates[0].scheme, "rope");
  EXPECT_EQ(candidates[0].windows, 2u);
  EXPECT_TRUE(candidates[0].finalist);
  EXPECT_DOUBLE_EQ(candidates[0].beyond->mean, 4.75);
  EXPECT_DOUBLE_EQ(candidates[0].inside_cost->mean, 0.25);
  EXPECT_DOUBLE_EQ(candidates[0].held_out.beyond->mean, 7);
  EXPECT_DOUBLE_EQ(candidates[0].held_out.inside_cost->mean, 1);
  EXPECT_DOUBLE_EQ(candidates[0].held_out.copy_beyond->mean, 0.75);
  EXPECT_EQ(losses_of(study, facts, "rope").size(), 2u);
  EXPECT_EQ(copy_by_distance(study, facts, "rope").front().gain.count, 2);
  EXPECT_EQ(scope_of(facts).windows, 2u);
  EXPECT_EQ(scope_of(facts).held_out, 1u);

  study.cells.erase({"rope", "plain", 1});
  candidates = candidates_of(study);
  EXPECT_TRUE(candidates[0].finalist) << "it ran all that choose";
  EXPECT_FALSE(candidates[0].held_out.beyond);
}

TEST(Results, AStudyWithoutFactsSaysWhatToDo) {
  StudyContents study = study_of({"declared"});
  study.records.erase(kFactsRecord);
  try {
    candidates_of(study);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("once more"), std::string::npos) << error.what();
  }
}

TEST(Results, RecordsThatAreNotOursAreRefused) {
  for (const char* json : {"[]", "{}", "7", R"({"model":3})", "{", "{\"windows\":[{}]}"}) {
    StudyContents study = study_of({"declared"});
    study.records[kFactsRecord] = json;
    EXPECT_THROW(candidates_of(study), Error) << json;
    study = study_of({"declared"});
    study.records[std::string(kSchemeRecords) + "declared"] = json;
    EXPECT_THROW(candidates_of(study), Error) << json;
  }
  StudyContents study = study_of({"declared"});
  StudyFacts facts = facts_of(2);
  facts.windows[1].repeats = {{.first = 8, .length = 2, .distance = 1}};
  study.records[kFactsRecord] = to_json(facts);
  EXPECT_THROW(candidates_of(study), Error) << "a repeat past its window";
}

TEST(Results, WhereTheSearchFoundASettingIsKept) {
  StudyContents study = study_of({"declared", "rope"});
  SchemeFacts facts = scheme_of("rope", false);
  facts.found_by = "around logn";
  study.records.at(std::string(kSchemeRecords) + "rope") = to_json(facts);
  for (const Candidate& candidate : candidates_of(study))
    EXPECT_EQ(candidate.found_by, candidate.scheme == "rope" ? "around logn" : "");
}

// A cast of 1e300 to an integer would be anything.
TEST(Results, NumbersOfRecordsOutOfRangeAreNamed) {
  const auto said = [](const std::string& record, const std::string& from, const std::string& to) {
    StudyContents study = study_of({"declared"});
    std::string& json = study.records.at(record);
    const size_t at = json.find(from);
    EXPECT_NE(at, json.npos) << from;
    json.replace(at, from.size(), to);
    try {
      candidates_of(study);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto expect = [&](const std::string& text, const std::string& place) {
    EXPECT_NE(text.find(place + ": must be a whole number"), text.npos) << text;
  };
  for (const std::string number : {"1e300", "-1", "9223372036854775808", "2.5"}) {
    expect(said("facts", "\"threads\":1", "\"threads\":" + number), "study.db: facts: threads");
    expect(said("facts", "\"tokens\":9", "\"tokens\":" + number), "facts: windows: tokens");
    expect(said("facts", "[7,", "[" + number + ","), "facts: windows: repeats: 0");
    expect(said("scheme/declared", "\"distances\":[1,", "\"distances\":[" + number + ","),
           "scheme/declared: distances: 0");
  }
  expect(said("facts", "\"threads\":1", "\"threads\":3000000000"), "facts: threads");
}

TEST(Merge, HoldsTheUnionAndTellsAnew) {
  StudyContents a = study_of({"declared", "rope"});
  StudyContents b = study_of({"declared", "rope", "logn"});
  a.cells.erase({"rope", "plain", 1});
  b.cells.erase({"rope", "plain", 0});
  b.cells.at({"declared", "plain", 0}).seconds = 9;  // another machine
  a.records[kOutcomeRecord] = "{}";
  a.records[kJobRecord] = b.records[kJobRecord] = "{}";
  b.records[std::string(kTableRecords) + "bias"] = "[]";
  const StudyContents both = merged(a, b);
  EXPECT_EQ(both.cells.size(), 18u);
  EXPECT_EQ(both.cells.at({"declared", "plain", 0}).seconds, 0.5);
  EXPECT_EQ(both.records.count(kOutcomeRecord), 0u);
  EXPECT_EQ(both.records.count(kJobRecord), 0u) << "no job finished it";
  EXPECT_EQ(both.records.count(std::string(kTableRecords) + "bias"), 1u);
  const std::vector<Candidate> candidates = candidates_of(both);
  ASSERT_EQ(candidates.size(), 3u);
  for (const Candidate& candidate : candidates) EXPECT_TRUE(candidate.finalist);
}

TEST(Merge, WhatIsHeldOutOfOneAloneCountsInNeither) {
  const StudyContents a = study_of({"declared"}, 3);
  StudyContents b = a;
  StudyFacts facts = facts_of(3);
  facts.windows[2].held_out = true;
  b.records[kFactsRecord] = to_json(facts);
  for (const StudyContents& both : {merged(a, b), merged(b, a)}) {
    const StudyScope scope = scope_of(study_facts(both));
    EXPECT_EQ(scope.windows, 2u);
    EXPECT_EQ(scope.held_out, 0u);
  }
  EXPECT_EQ(scope_of(study_facts(merged(b, b))).held_out, 1u);
  EXPECT_EQ(scope_of(study_facts(merged(merged(a, b), b))).held_out, 0u);
  EXPECT_EQ(scope_of(study_facts(merged(b, merged(b, a)))).windows, 2u);
}

TEST(Merge, WhatOneLeftOutChoosesInNeitherButMayBeHeldOut) {
  StudyContents none = study_of({"declared"}, 3);
  StudyContents held = none;
  const StudyContents chose = none;
  StudyFacts facts = facts_of(3);
  facts.windows[2].held_out = true;
  held.records[kFactsRecord] = to_json(facts);
  facts.windows[2] = {.document = facts.windows[2].document,
                      .first = facts.windows[2].first,
                      .tokens = facts.windows[2].tokens,
                      .left_out = true};
  none.records[kFactsRecord] = to_json(facts);
  for (const StudyContents& both : {merged(none, held), merged(held, none)}) {
    EXPECT_EQ(scope_of(study_facts(both)).windows, 2u);
    EXPECT_EQ(scope_of(study_facts(both)).held_out, 1u);
  }
  for (const StudyContents& both : {merged(none, chose), merged(chose, none)}) {
    EXPECT_EQ(scope_of(study_facts(both)).windows, 2u);
    EXPECT_EQ(scope_of(study_facts(both)).held_out, 0u);
    EXPECT_EQ(scope_of(study_facts(merged(both, held))).held_out, 0u) << "it chose in one of three";
  }
  EXPECT_EQ(scope_of(study_facts(merged(none, none))).windows, 2u);
}

// Candidates of studies that were cut to different windows are compared over those that all ran.
TEST(Merge, CutStudiesKeepTheirFinalists) {
  const auto cut = [](const std::string& scheme, size_t without) {
    StudyContents study = study_of({"declared", scheme}, 3);
    StudyFacts facts = facts_of(3);
    facts.windows[without].left_out = true;
    facts.left_out = "2 of 3 windows";
    study.records[kFactsRecord] = to_json(facts);
    std::erase_if(study.cells, [&](const auto& cell) {
      return cell.first.window == static_cast<int64_t>(without);
    });
    return study;
  };
  const StudyContents both = merged(cut("rope", 1), cut("logn", 2));
  EXPECT_EQ(scope_of(study_facts(both)).windows, 1u);
  const std::vector<Candidate> candidates = candidates_of(both);
  ASSERT_EQ(candidates.size(), 3u);
  for (const Candidate& candidate : candidates) EXPECT_TRUE(candidate.finalist) << candidate.scheme;
  EXPECT_EQ(study_facts(both).left_out, "2 of 3 windows");
}

// What another is writing stays, and so does what it made.
TEST(Merge, OneNameIsWrittenByOneAtATime) {
  const std::string path =
      testing::TempDir() + "ropewalk_merge_" + std::to_string(getpid()) + ".db";
  const std::string part = path + "-part";
  const StudyContents study = study_of({"declared"});
  const auto said = [&] {
    try {
      write_study(study, path);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  {
    const StudyLock other(path);
    write_study(study, part);  // as the other has it by now
    EXPECT_NE(said().find("held by a living process"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(part));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(said(), "") << "the part of a run that was killed is written over";
  EXPECT_EQ(read_study(path).cells.size(), study.cells.size());
  EXPECT_FALSE(std::filesystem::exists(part));
  EXPECT_FALSE(std::filesystem::exists(path + "-lock"));
  EXPECT_NE(said().find("a name that is free"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path + "-lock"));
  std::filesystem::remove(path);
}

TEST(Merge, WhatContradictsIsNamed) {
  const StudyContents a = study_of({"declared", "rope"});
  StudyContents b = study_of({"declared", "rope"});
  b.cells.at({"rope", "plain", 1}).losses[2] = 7;
  const std::string said = said_of(a, b);
  EXPECT_NE(said.find("contradicts study.db on rope, plain text, window 2"), std::string::npos)
      << said;
  EXPECT_NE(said.find("1.25 and 7 nats for token 3"), std::string::npos) << said;
  b.cells.at({"rope", "plain", 1}).losses.pop_back();
  EXPECT_FALSE(said_of(a, b).empty());
}

TEST(Merge, AnotherModelTextOrVersionIsNamed) {
  const StudyContents a = study_of({"declared"});
  StudyContents b = study_of({"declared"});
  b.identity[0].second = "m2";
  EXPECT_NE(said_of(a, b).find("of another model"), std::string::npos);
  b.identity[0].second = "m1";
  b.identity.emplace_back("version", "2");
  EXPECT_NE(said_of(a, b).find("of another version"), std::string::npos);
  EXPECT_NE(said_of(b, a).find("got none"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk
