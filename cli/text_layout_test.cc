#include "cli/text_layout.h"

#include <gmock/gmock.h>

#include <sstream>

namespace ropewalk {
namespace {

TEST(Paragraph, PartsAtSpacesAndHangs) {
  const std::string words(59, 'a');
  EXPECT_EQ(paragraph("one two", "- ", 2), "- one two\n");
  EXPECT_EQ(paragraph(words + " " + words + " b", "- ", 2), "- " + words + "\n  " + words + " b\n");
  EXPECT_EQ(paragraph(std::string(200, 'x'), "", 4), std::string(200, 'x') + "\n");
  EXPECT_EQ(paragraph("", "name", 4), "name\n");
}

TEST(Paragraph, PartsLongNamesBehindTheirSigns) {
  const std::string name = std::string(60, 'a') + "." + std::string(60, 'b');
  EXPECT_EQ(paragraph(name, "  ", 2), "  " + name.substr(0, 61) + "\n  " + name.substr(61) + "\n");
}

TEST(Paragraph, ANamesPartsNeverShareALine) {
  const std::string name = std::string(50, 'a') + "." + std::string(10, 'b') + "." +
                           std::string(60, 'c') + "/" + std::string(30, 'd');
  EXPECT_EQ(paragraph("see " + name + " too", "", 2),
            "see\n  " + name.substr(0, 62) + "\n  " + name.substr(62) + " too\n");
  const std::string head(60, 'h');
  EXPECT_EQ(paragraph(name, head, 2),
            head + "\n  " + name.substr(0, 62) + "\n  " + name.substr(62) + "\n");
}

TEST(Paragraph, CountsCharactersAndNotBytes) {
  std::string name = "x.";
  for (int i = 0; i < 100; ++i) name += "\u00fc";
  EXPECT_EQ(paragraph(name, "", 4), name + "\n");
}

TEST(Paragraph, IsNeverWiderThanTheLine) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::string(static_cast<size_t>(1 + i * 7 % 13), 'w') + " ";
  std::istringstream lines(paragraph(text, "  head  ", 8));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), kLineWidth);
    EXPECT_NE(line.back(), ' ');
  }
}

TEST(Table, AlignsAllColumnsButTheLast) {
  Table table;
  table.add({"a", "long name", "x"});
  table.add({"bb", "n", "y"});
  EXPECT_EQ(table.text(), "  a   long name  x\n  bb  n          y\n");
}

TEST(Table, ACellThatIsTooWideHasALineOfItsOwn) {
  Table table(0);
  const std::string wide(60, 'w');
  table.add({"a", "b", "c"});
  table.add({wide, "e", "f"});
  EXPECT_EQ(table.text(), "a  b  c\n" + wide + "\n   e  f\n");
}

TEST(Shortened, KeepsBothEnds) {
  EXPECT_EQ(shortened("abc", 10), "abc");
  EXPECT_EQ(shortened("abcdefghijklmnopqrst", 12), "abcd ... rst");
}

TEST(WithoutLists, CutsLongListsAlone) {
  EXPECT_EQ(without_lists("dpe,window=64,groups=1:6:6:6"), "dpe,window=64,groups=1:6:6:6");
  EXPECT_EQ(without_lists("longrope,long=1:1.5:2:3:4:5:6.25,short=1:1:1:1:1:1:1,amplitude=1.1"),
            "longrope,long=1:1.5:..:6.25,short=1:1:..:1,amplitude=1.1");
  EXPECT_EQ(without_lists("Best: 12:30, and so on"), "Best: 12:30, and so on");
  EXPECT_EQ(without_lists(""), "");
}

}  // namespace
}  // namespace ropewalk
