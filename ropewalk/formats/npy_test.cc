#include "ropewalk/formats/npy.h"

#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "ropewalk/formats/test_support.h"

namespace ropewalk {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The header and the values, read back by hand.
struct Npy {
  std::string header;
  std::vector<double> values;
};

Npy parse(const std::string& file) {
  EXPECT_THAT(file, StartsWith(std::string("\x93NUMPY\x01\x00", 8)));
  uint16_t length = 0;
  std::memcpy(&length, file.data() + 8, sizeof(length));
  const size_t data = 10 + size_t{length};
  EXPECT_EQ(data % 64, 0u);
  EXPECT_EQ(file[data - 1], '\n');
  Npy npy{file.substr(10, length), std::vector<double>((file.size() - data) / sizeof(double))};
  // An empty array has no address to copy to.
  if (!npy.values.empty()) std::memcpy(npy.values.data(), file.data() + data, file.size() - data);
  return npy;
}

TEST(Npy, HoldsTheArrayAsNumPyReadsIt) {
  const std::vector<double> values = {1, -0.5, std::numeric_limits<double>::infinity(), 4, 5, 6};
  const Npy npy = parse(npy_file(values, {2, 3}));
  EXPECT_THAT(npy.header,
              StartsWith("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"));
  EXPECT_EQ(npy.values, values);
}

TEST(Npy, ShapesAreTuples) {
  EXPECT_THAT(parse(npy_file(std::vector<double>(3), {3})).header, HasSubstr("'shape': (3,), "));
  EXPECT_THAT(parse(npy_file(std::vector<double>(1), {})).header, HasSubstr("'shape': (), "));
  EXPECT_THAT(parse(npy_file({}, {0, 7})).header, HasSubstr("'shape': (0, 7), "));
}

TEST(Npy, RefusesAnotherNumberOfValues) {
  EXPECT_THAT(message_of([] {
                npy_file(std::vector<double>(5), {2, 3});
              }),
              HasSubstr("(2, 3), got 5"));
}

TEST(Npy, IsWrittenWhole) {
  const TempDirectory folder;
  const std::string path = folder.path() + "/a.npy";
  const std::vector<double> values = {1, 2};
  write_npy(path, values, {2});
  EXPECT_EQ(read_file(path), npy_file(values, {2}));
}

}  // namespace
}  // namespace ropewalk
