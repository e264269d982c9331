#include "ropewalk/formats/npy.h"

#include "ropewalk/base/error.h"
#include "ropewalk/formats/append_bytes.h"
#include "ropewalk/formats/atomic_file.h"

namespace ropewalk {
namespace {

constexpr size_t kDataAlignment = 64;
constexpr size_t kMostHeader = 65535;  // its length is a u16

// "(2, 3)", "(2,)", "()": a Python tuple.
std::string tuple(const std::vector<uint64_t>& shape) {
  std::string text = "(";
  for (const uint64_t size : shape) text += std::to_string(size) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) text.erase(text.size() - 2);
  return text + ")";
}

}  // namespace

std::string npy_file(std::span<const double> values, const std::vector<uint64_t>& shape) {
  uint64_t count = 1;
  for (const uint64_t size : shape) count *= size;
  if (count != values.size()) {
    throw Error("npy", "must have a value for each place of the shape " + tuple(shape),
                std::to_string(values.size()));
  }
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': " + tuple(shape) + ", }";
  const std::string magic = std::string(kNpyBeginning) + std::string("\x01\x00", 2);
  const size_t before = magic.size() + sizeof(uint16_t);
  const size_t used = before + header.size() + 1;  // and the line feed
  header.append((kDataAlignment - used % kDataAlignment) % kDataAlignment, ' ');
  header += '\n';
  if (header.size() > kMostHeader) throw Error("npy", "must have fewer dimensions", tuple(shape));

  std::string file = magic;
  append_number(file, static_cast<uint16_t>(header.size()));
  file += header;
  for (const double value : values) append_number(file, value);
  return file;
}

void write_npy(const std::string& path, std::span<const double> values,
               const std::vector<uint64_t>& shape) {
  AtomicFile file(path);
  file.write(npy_file(values, shape));
  file.commit();
}

}  // namespace ropewalk
