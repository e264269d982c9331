// BoundedCache: the values that were asked for last.
#ifndef ROPEWALK_BASE_BOUNDED_CACHE_H_
#define ROPEWALK_BASE_BOUNDED_CACHE_H_

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace ropewalk {

// At most so many; a further one takes the place of the one that nobody asked for longest. Any number
// of threads may ask.
template <typename Key, typename Value>
class BoundedCache {
 public:
  //   most  at least 1
  explicit BoundedCache(size_t most) : most_(most) {}

  // What make() gives, where the key is new; what that throws is passed on, and nothing kept.
  template <typename Make>
  std::shared_ptr<const Value> find_or_make(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    const auto found = place_of_.find(key);
    if (found != place_of_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->second;
    }
    entries_.emplace_front(key, std::make_shared<const Value>(make()));
    place_of_[key] = entries_.begin();
    if (entries_.size() > most_) {
      place_of_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }

 private:
  using Entries = std::list<std::pair<Key, std::shared_ptr<const Value>>>;

  size_t most_;
  std::mutex mutex_;
  Entries entries_;  // the last one asked for comes first
  std::map<Key, typename Entries::iterator> place_of_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_BASE_BOUNDED_CACHE_H_
