// Any bytes: a Safetensors whose every tensor can be read, or an Error.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const ropewalk::Safetensors file = ropewalk::Safetensors::parse(bytes, "fuzz");
    for (const ropewalk::TensorInfo& info : file.tensors()) {
      if (file.find_tensor(info.name) != &info) __builtin_trap();
      if (!ropewalk::is_decodable(info.type)) continue;
      std::vector<float> values(ropewalk::element_count(info));
      file.read_f32(info, values);
    }
  } catch (const ropewalk::Error&) {
  }
  return 0;
}
