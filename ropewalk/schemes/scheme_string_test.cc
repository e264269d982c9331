#include "ropewalk/schemes/scheme_string.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::declared;
using small_model::distance_under;
using small_model::inv_freq_under;
using small_model::under;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string message_of(const std::string& text) {
  try {
    under(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A file in the test's own folder, gone afterwards.
class ListFile {
 public:
  explicit ListFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("ropewalk_list_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
               ".json")) {
    std::ofstream(path_) << content;
  }
  ~ListFile() { std::filesystem::remove(path_); }
  ListFile(const ListFile&) = delete;
  ListFile& operator=(const ListFile&) = delete;

  std::string reference() const { return "@" + path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(SchemeString, DeclaredChangesNothing) {
  EXPECT_TRUE(parse_scheme("declared").is_declared());
  EXPECT_EQ(parse_scheme("declared").text(), "declared");
  EXPECT_EQ(parse_scheme("cap,window=8+declared").text(), "cap,window=8");
  EXPECT_EQ(inv_freq_under("declared"), declared().spectrum.at(1).inv_freq());
}

TEST(SchemeString, PartsOfEveryKindGoTogether) {
  const Rotary rotary = under("logn+window,size=64+full_turn+cap,window=32+ntk,factor=2");
  EXPECT_EQ(rotary.spectrum.at(1).inv_freq(), inv_freq_under("ntk,factor=2"));
  EXPECT_EQ(static_cast<double>(rotary.distance.at(100, 0)), 32);
  EXPECT_EQ(rotary.mask.past, PairMask::Past::kSilent);
  EXPECT_EQ(rotary.visibility.window, 64);
  EXPECT_EQ(rotary.temperature.log_length, 512);
}

TEST(SchemeString, WhatNoPartSetsStaysDeclared) {
  const Rotary yarn = under("yarn,factor=8");
  const Rotary capped = apply_scheme("cap,window=32", yarn);
  EXPECT_EQ(capped.spectrum.at(1).inv_freq(), yarn.spectrum.at(1).inv_freq());
  EXPECT_EQ(capped.spectrum.at(1).amplitude, yarn.spectrum.at(1).amplitude);
  const Rotary slowed = apply_scheme("linear,factor=2", apply_scheme("window,size=9", yarn));
  EXPECT_EQ(slowed.visibility.window, 9);
  EXPECT_EQ(slowed.spectrum.at(1).amplitude, 1);
}

TEST(SchemeString, CanonicalTextIsOneForOneMeaning) {
  for (const auto& [given, canonical] : std::map<std::string, std::string>{
           {"yarn,ramp=index,factor=8.0", "yarn,factor=8"},
           {"logn+cap,window=32", "cap,window=32+logn"},
           {"full_turn,mode=zero,turns=1.0", "full_turn"},
           {"full_turn,mode=freeze,turns=0.50", "full_turn,turns=0.5,mode=freeze"},
           {"dynamic_ntk,block=all", "dynamic_ntk,block=all"},
           {"dynamic_ntk,block=064", "dynamic_ntk"},
           {"cap,pairs=0:2,window=7", "cap,window=7,pairs=0:2"},
           {"temperature,factor=1e-7", "temperature,factor=1e-07"},
           {"temperature,factor=1e20", "temperature,factor=1e20"},
           {"base,factor=0.1", "base,factor=0.1"}}) {
    EXPECT_EQ(parse_scheme(given).text(), canonical);
    EXPECT_EQ(parse_scheme(canonical).text(), canonical);
  }
}

TEST(SchemeString, AtMostOnePartOfEachKind) {
  EXPECT_THAT(message_of("linear,factor=2+yarn,factor=4"),
              AllOf(HasSubstr("at most one spectrum"), HasSubstr("linear,factor=2"),
                    HasSubstr("yarn,factor=4")));
  EXPECT_THAT(message_of("window,size=4+sinks,count=1,size=4"), HasSubstr("one visibility"));
  EXPECT_THAT(message_of("logn+temperature,factor=2"), HasSubstr("one multiplier"));
  EXPECT_THAT(message_of("cap,window=4+cap,window=4"), HasSubstr("one distance map"));
}

TEST(SchemeString, UnknownNamesAreAnsweredWithTheKnown) {
  EXPECT_THAT(message_of("yarm,factor=8"),
              AllOf(HasSubstr("yarm"), HasSubstr("did you mean yarn?"), HasSubstr("self_extend")));
  EXPECT_THAT(message_of("rotary"), AllOf(HasSubstr("known: declared"), HasSubstr("log_tail")));
  EXPECT_THAT(
      message_of("cap,windows=8"),
      AllOf(HasSubstr("scheme cap"), HasSubstr("did you mean window?"), HasSubstr("pairs")));
  EXPECT_THAT(message_of("Cap,window=8"), HasSubstr("did you mean cap?"));
}

TEST(SchemeString, RefusalsNamePlaceRuleAndValue) {
  EXPECT_THAT(message_of("cap,window=0"),
              HasSubstr("scheme cap, parameter window: must be a whole number >= 1, got 0"));
  EXPECT_THAT(message_of("cap"), HasSubstr("scheme cap, parameter window: must be given"));
  EXPECT_THAT(message_of("cap,window=8,pairs=2:9"),
              HasSubstr("scheme cap, parameter pairs: must lie within 0:3, got 2:9"));
}

TEST(SchemeString, APlusSignInANumberIsNamed) {
  EXPECT_THAT(message_of("linear,factor=1e+2"), HasSubstr("got 1e+2; write 1e2"));
  EXPECT_THAT(message_of("base,value=1.E+6+logn"), HasSubstr("got 1.E+6; write 1.E6"));
  EXPECT_THAT(message_of("longrope,long=1:1e+1:2,short=1:1:1"), HasSubstr("got 1e+1; write 1e1"));
}

// Users of engines that take 1 / factor.
TEST(SchemeString, AFrequencyScaleIsNoFactor) {
  EXPECT_THAT(message_of("linear,factor=0.125"), HasSubstr("frequency scale 0.125 is factor 8"));
  EXPECT_THAT(message_of("yarn,factor=0.25"), HasSubstr("is factor 4"));
  EXPECT_THAT(message_of("linear,factor=-1"), Not(HasSubstr("frequency scale")));
  for (const char* const scheme : {"dynamic_ntk", "stale_dynamic_ntk", "ntk"}) {
    EXPECT_THAT(message_of(std::string(scheme) + ",factor=0.25"),
                AllOf(HasSubstr("must be a number >= 1"), Not(HasSubstr("frequency scale"))));
  }
}

TEST(SchemeString, WholeNumbersMayBeSpeltAsOthers) {
  EXPECT_EQ(parse_scheme("cap,window=1e6").text(), "cap,window=1000000");
  EXPECT_EQ(parse_scheme("cap,window=512.0").text(), "cap,window=512");
  EXPECT_EQ(parse_scheme("sinks,count=4,size=2.5e2").text(), "sinks,count=4,size=250");
  for (const char* text : {"cap,window=1e-1", "cap,window=512.5", "cap,window=1e17"}) {
    EXPECT_THAT(message_of(text), HasSubstr("must be a whole number")) << text;
  }
}

TEST(SchemeString, BrokenTextIsRefused) {
  for (const char* text : {"",
                           "+",
                           "cap,window=8+",
                           "+cap,window=8",
                           "cap,",
                           "cap,window",
                           "cap,=8",
                           "cap,window=",
                           "cap,window=8,window=8",
                           "cap window=8",
                           "cap,window=8,pairs=3",
                           "cap,window=8,pairs=3:2",
                           "cap,window=8,pairs=-1:2",
                           "cap,window=8,pairs=1:2:3",
                           "linear,factor=+2",
                           "linear,factor=1e+2",
                           "linear,factor=nan",
                           "linear,factor=inf",
                           "linear,factor=2x",
                           "linear,factor=0x10",
                           "linear,factor= 2",
                           "linear,factor=1e999",
                           "declared,factor=2",
                           "longrope,long=1:2::8,short=1:1:1:1",
                           "longrope,long=,short=1:1:1:1"}) {
    EXPECT_NE(message_of(text), "no error") << text;
  }
}

TEST(SchemeString, ListsComeFromFiles) {
  const ListFile points("[[0, 0], [10, 10], [30, 15.5]]");
  EXPECT_EQ(distance_under("curve,points=" + points.reference(), 30), 15.5);
  EXPECT_EQ(parse_scheme("curve,points=" + points.reference()).text(),
            "curve,points=0:0:10:10:30:15.5");
}

TEST(SchemeString, NumbersComeFromFiles) {
  const ListFile divisors("[1, 2, 4.0, 8]");
  EXPECT_EQ(inv_freq_under("longrope,long=" + divisors.reference() + ",short=1:1:1:1", 513),
            inv_freq_under("longrope,long=1:2:4:8,short=1:1:1:1", 513));
}

TEST(SchemeString, BrokenFilesAreRefused) {
  for (const char* content : {"", "{}", "[1, 2, 4, 8", "[1, 2, 4, \"8\"]", "[1, [2], 4, 8]", "[]",
                              "[1, 2, null, 8]", "8", "[1, 2, 4, 1e999]", "[true, 1, 1, 1]"}) {
    const ListFile file(content);
    EXPECT_NE(message_of("longrope,short=1:1:1:1,long=" + file.reference()), "no error") << content;
  }
  for (const char* content : {"[0, 0, 1, 1]", "[[0, 0], [1]]", "[[0, 0], [1, 1, 1]]"}) {
    const ListFile file(content);
    EXPECT_NE(message_of("curve,points=" + file.reference()), "no error") << content;
  }
  EXPECT_NE(message_of("curve,points=@no_such_file.json"), "no error");
  EXPECT_NE(message_of("curve,points=@/"), "no error");
  EXPECT_NE(message_of("curve,points=@"), "no error");
}

TEST(SchemeString, FilesAreBounded) {
  const ListFile file("[" + std::string(size_t{2} << 20, ' ') + "]");
  EXPECT_THAT(message_of("curve,points=" + file.reference()), HasSubstr("at most 1048576 bytes"));
}

}  // namespace
}  // namespace ropewalk
