#include "ropewalk/study/shared_study.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/study/database.h"
#include "ropewalk/study/record.h"

namespace ropewalk {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kHeadStart{2000};  // of rank 0, whose output some launchers show first
// A disk takes as long for a transaction as a small model for a pass; until then the folder has its
// cells.
constexpr milliseconds kBetweenWrites{1000};
constexpr milliseconds kPatience{3000};  // with a holder that has not said which job it is of

// Between looks at what others do: short at first, for small models take milliseconds.
class Pause {
 public:
  void wait() {
    std::this_thread::sleep_for(length_);
    length_ = std::min(2 * length_, milliseconds(200));
  }
  void reset() { length_ = milliseconds(2); }

 private:
  milliseconds length_{2};
};

}  // namespace

SharedStudy::SharedStudy(const std::string& path, const StudyIdentity& identity,
                         std::optional<Ranks> ranks, std::function<void(StudyStore&)> on_held)
    : path_(refuse_other_files(path)),
      identity_(identity),
      ranks_(std::move(ranks)),
      on_held_(std::move(on_held)) {
  ranks_ ? join() : hold(std::make_unique<StudyLock>(path_));
}

// ---- who holds the study

void SharedStudy::join() {
  folder_ = std::make_unique<CellFolder>(path_, identity_);
  try {
    hold_or_hear_of_holder();
  } catch (const Error&) {
    if (folder_->names().empty()) folder_->leave_for_good();
    throw;
  }
  if (!stored_) stored_ = folder_->names();
}

void SharedStudy::hold_or_hear_of_holder() {
  const auto start = Clock::now();
  auto heard = start;  // of a holder of this job
  for (Pause pause;; pause.wait()) {
    const auto now = Clock::now();
    if ((ranks_->rank == 0 || now - start > kHeadStart) && hold_if_free()) return;
    if (const auto job = parse_job_state(folder_->note(), *ranks_)) {
      if (hear_of(*job)) return;
      heard = now;
    }
    if (now - heard > kPatience) return hold(std::make_unique<StudyLock>(path_));
  }
}

// Whether the holder has said what this rank must know.
bool SharedStudy::hear_of(const JobState& job) {
  if (job.stage != JobStage::kOpen) return false;
  invocation_ = job.next_of(ranks_->rank);
  is_over_ = invocation_ < job.invocation;
  return true;
}

bool SharedStudy::hold_if_free() {
  if (store_ || is_over_) return true;
  std::unique_ptr<StudyLock> lock = StudyLock::try_take(path_);
  if (lock == nullptr) return false;
  hold(std::move(lock));
  return true;
}

void SharedStudy::hold(std::unique_ptr<StudyLock> lock) {
  if (ranks_) folder_->put_note(to_json(*ranks_, new_job(*ranks_)));
  auto store = std::make_unique<StudyStore>(std::move(lock), path_, identity_);
  if (ranks_ && was_finished(*store)) {
    is_over_ = true;
    return folder_->leave_for_good();
  }
  store_ = std::move(store);
  if (!ranks_) {
    take_in_what_was_left();
  } else {
    exchange_cells();
    job_.stage = JobStage::kOpen;
    folder_->put_note(to_json(*ranks_, job_));
  }
  on_held_(*store_);
}

void SharedStudy::take_in_what_was_left() {
  if (!std::filesystem::exists(CellFolder::path_of(path_))) return;
  CellFolder folder(path_, identity_);
  take_in(folder);
  folder.leave_for_good();
}

// Afterwards study and folder have the same.
void SharedStudy::exchange_cells() {
  take_in(*folder_);
  for (const CellKey& key : store_->keys()) {
    if (folder_->has(key)) continue;
    if (const auto cell = store_->find(key)) folder_->publish(key, *cell);
  }
  if (!stored_) stored_ = folder_->names();
}

// Where both have a cell, the study's stays, for all ranks go by equal times.
void SharedStudy::take_in(const CellFolder& folder) {
  std::map<CellKey, Cell> missing;
  folder.for_each([&](const CellKey& key, const Cell& cell) {
    const std::optional<Cell> own = store_->find(key);
    if (!own) {
      missing[key] = cell;
    } else if (*own != cell) {
      folder.remove(key);
    }
  });
  store_->insert_all(missing);
}

// By another rank, in the invocation that this process belongs to; which is then seen.
bool SharedStudy::was_finished(StudyStore& store) {
  const std::string record = store.record(kJobRecord).value_or("");
  job_ = parse_job_state(record, *ranks_).value_or(new_job(*ranks_));
  if (invocation_ == 0) invocation_ = job_.next_of(ranks_->rank);
  const bool finished = invocation_ <= job_.invocation;
  if (finished) {
    job_.seen[static_cast<size_t>(ranks_->rank)] = invocation_;
    store.put_records({{kJobRecord, to_json(*ranks_, job_)}});
  } else {
    job_.invocation = invocation_;
  }
  return finished;
}

bool SharedStudy::await_hold() {
  for (Pause pause; !hold_if_free();) pause.wait();
  return store_ != nullptr;
}

void SharedStudy::finish() {
  if (!ranks_) return;
  job_.stage = JobStage::kFinished;
  job_.seen[static_cast<size_t>(ranks_->rank)] = invocation_;
  folder_->put_note(to_json(*ranks_, job_));  // who comes from now on is not of this invocation
  store_->put_records({{kJobRecord, to_json(*ranks_, job_)}});
  folder_->leave_for_good();
}

// ---- cells

CellSource::Kept SharedStudy::find_or_measure(const CellKey& key, const IsWhole& is_whole,
                                              const Measure& measure) {
  if (!ranks_) return store_->find_or_measure(key, is_whole, measure);
  for (Pause pause;;) {
    hold_if_free();
    folder_->look();
    if (std::optional<Cell> cell = find(key, is_whole))
      return {.cell = std::move(*cell),
              .was_stored = stored_ && stored_->contains(folder_->name_of(key))};
    std::optional<Cell> own;
    if (!try_measure({key, measure}, &own)) pause.wait();
    if (own && !is_measured(own->losses)) return {.cell = std::move(*own)};  // no file keeps it
  }
}

// What the study has is what all ranks go by.
std::optional<Cell> SharedStudy::find(const CellKey& key, const IsWhole& is_whole) {
  if (store_) {
    std::optional<Cell> cell = store_->find(key);
    if (cell && is_whole(cell->losses)) return cell;
  }
  std::optional<Cell> cell = folder_->find(key);
  if (!cell) return std::nullopt;
  if (!is_whole(cell->losses)) {
    folder_->remove(key);
    return std::nullopt;
  }
  if (store_) store_->insert(key, *cell);
  return cell;
}

void SharedStudy::share(const std::vector<Wanted>& wanted,
                        const std::function<void()>& on_measured) {
  if (!ranks_) return;
  std::vector<const Wanted*> left;
  for (const Wanted& one : wanted) {
    if (!folder_->has(one.key)) left.push_back(&one);
  }
  std::map<CellKey, Cell> fresh;  // that the study has not yet
  auto written = Clock::now();
  for (Pause pause; !left.empty();) {
    folder_->look();
    bool measured = false;
    std::erase_if(left, [&](const Wanted* one) {
      const bool was_there = folder_->has(one->key);
      if (!was_there && !try_measure(*one)) return false;
      measured = measured || !was_there;
      if (store_) {
        if (auto cell = folder_->find(one->key)) fresh[one->key] = std::move(*cell);
        if (Clock::now() - written > kBetweenWrites) {
          store_->insert_all(std::exchange(fresh, {}));
          written = Clock::now();
        }
      }
      on_measured();
      return true;
    });
    measured ? pause.reset() : pause.wait();
  }
  if (store_) store_->insert_all(fresh);
}

// False while a living process measures it.
//   own  set where this rank has measured it
bool SharedStudy::try_measure(const Wanted& wanted, std::optional<Cell>* own) {
  hold_if_free();
  const std::unique_ptr<CellClaim> claim = folder_->claim(wanted.key);
  if (claim == nullptr) return false;
  folder_->look();
  if (folder_->has(wanted.key)) return true;
  Cell cell = timed_cell(wanted.measure);
  if (is_measured(cell.losses)) folder_->publish(wanted.key, cell);
  if (own != nullptr) *own = std::move(cell);
  return true;
}

}  // namespace ropewalk
