// A file that the system has open.
#ifndef ROPEWALK_BASE_DESCRIPTOR_H_
#define ROPEWALK_BASE_DESCRIPTOR_H_

#include <unistd.h>

namespace ropewalk {

// Closes it, where there is one (not negative).
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_DESCRIPTOR_H_
