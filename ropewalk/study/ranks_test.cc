#include "ropewalk/study/ranks.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using Environment = std::map<std::string, std::string>;

const Environment kSecondOfFour = {{"OMPI_COMM_WORLD_RANK", "1"},
                                   {"OMPI_COMM_WORLD_SIZE", "4"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                   {"PMIX_NAMESPACE", "1148387329"}};

std::optional<Ranks> read(const Environment& environment) {
  return read_ranks([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const std::string& name, const std::string& value) {
  Environment environment = kSecondOfFour;
  environment[name] = value;
  try {
    read(environment);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RanksTest, AreReadFromWhatOpenMpiSets) {
  const auto ranks = read(kSecondOfFour);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->rank, 1);
  EXPECT_EQ(ranks->size, 4);
  EXPECT_EQ(ranks->local_size, 2);
  EXPECT_EQ(ranks->job, "1148387329");
}

TEST(RanksTest, OneRankAndNoneAreAlone) {
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}));
  EXPECT_FALSE(read({{"PMIX_NAMESPACE", "x"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "junk"}}));
}

TEST(RanksTest, WhatIsMissingIsNamed) {
  for (const auto& [name, value] : kSecondOfFour) {
    Environment environment = kSecondOfFour;
    environment.erase(name);
    try {
      read(environment);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.place(), name);
      EXPECT_EQ(error.kind(), FaultKind::kMissingKey);
    }
  }
}

TEST(RanksTest, HostileValuesAreRefusedByName) {
  const std::string rank = "OMPI_COMM_WORLD_RANK";
  for (const char* value :
       {"", "4", "-1", "1 ", " 1", "0x1", "1e0", "99999999999999999999", "one"}) {
    EXPECT_NE(refusal(rank, value).find(rank + ": must be a whole number from 0 to 3"),
              std::string::npos)
        << value << ": " << refusal(rank, value);
  }
  for (const char* value : {"0", "-4", "4.0", "1048577"}) {
    EXPECT_NE(refusal("OMPI_COMM_WORLD_SIZE", value).find("OMPI_COMM_WORLD_SIZE: must be"),
              std::string::npos)
        << value;
  }
  for (const char* value : {"0", "5"}) {
    EXPECT_NE(refusal("OMPI_COMM_WORLD_LOCAL_SIZE", value).find("LOCAL_SIZE: must be"),
              std::string::npos)
        << value;
  }
  EXPECT_NE(refusal("PMIX_NAMESPACE", "").find("must name the job"), std::string::npos);
  EXPECT_NE(refusal("PMIX_NAMESPACE", std::string(256, 'x')).find("must name the job"),
            std::string::npos);
  EXPECT_NE(refusal("PMIX_NAMESPACE", "job \xff").find("must name the job"), std::string::npos);
  const std::string said = refusal(rank, "\x1b[2J");
  EXPECT_EQ(said.find('\x1b'), std::string::npos) << "nothing garbles the terminal";
}

TEST(RanksTest, ThoseOfOneMachineShareItsCores) {
  const auto threads = [](int local_size, int cores, int allowed) {
    return threads_of_a_rank({.local_size = local_size}, cores, allowed);
  };
  EXPECT_EQ(threads(2, 8, 8), 4);
  EXPECT_EQ(threads(2, 8, 1), 1) << "bound to a core";
  EXPECT_EQ(threads(4, 32, 16), 8) << "bound to a socket";
  EXPECT_EQ(threads(3, 8, 8), 2);
  EXPECT_EQ(threads(4, 2, 2), 1);
}

}  // namespace
}  // namespace ropewalk
