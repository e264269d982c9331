// AlignedBuffer: memory for kernels, allocated once and reused.
#ifndef ROPEWALK_BASE_ALIGNED_BUFFER_H_
#define ROPEWALK_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace ropewalk {

// Returns at least `bytes` bytes aligned to 64, or to 2 MiB and advised for huge pages where that
// large; the pages read as zero. Throws std::bad_alloc.
void* allocate_aligned(size_t bytes);
void free_aligned(void* memory);

// Bytes of so many elements. Throws Error where a number in memory cannot count them: sizes come from
// files.
size_t buffer_bytes(size_t count, size_t element_bytes);

// A fixed number of trivially copyable elements, zero at first, never moved. Making one throws as
// allocate_aligned() and buffer_bytes() do.
template <typename T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size)
      : data_(size == 0 ? nullptr
                        : static_cast<T*>(allocate_aligned(buffer_bytes(size, sizeof(T))))),
        size_(size) {}
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer() {
    if (data_ != nullptr) free_aligned(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }
  operator std::span<T>() { return {data_, size_}; }              // NOLINT: a buffer is a span
  operator std::span<const T>() const { return {data_, size_}; }  // NOLINT: a buffer is a span

  // Room for `size` elements; what was there is gone, and zero, only where it has to grow.
  void reserve(size_t size) {
    if (size > size_) *this = AlignedBuffer(size);
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_ALIGNED_BUFFER_H_
