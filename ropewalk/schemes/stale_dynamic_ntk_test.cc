#include <gtest/gtest.h>

#include "ropewalk/testing/small_model.h"

namespace ropewalk {
namespace {

using small_model::inv_freq_under;
using small_model::under;

TEST(StaleDynamicNtk, EveryTokenKeepsItsOwnLength) {
  const SpectrumRule rule = under("stale_dynamic_ntk").spectrum;
  EXPECT_EQ(rule.length(), SpectrumRule::Length::kToken);
  EXPECT_EQ(rule.length_for_row(1023, 4096), 1024);
  EXPECT_EQ(rule.at(1024).inv_freq(), inv_freq_under("ntk,factor=2"));
}

TEST(StaleDynamicNtk, IsNeverProposed) {
  EXPECT_FALSE(parse_scheme("stale_dynamic_ntk").recommended());
  for (const std::string& text : candidate_schemes(512, 4096)) {
    EXPECT_EQ(text.find("stale"), std::string::npos);
  }
}

}  // namespace
}  // namespace ropewalk
