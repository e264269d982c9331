// A study as `extend` measures it: alone, or as one of the ranks of a job. Every rank runs the same
// race and decides for itself, from the same numbers; cells are measured by whoever comes to them
// first and reach the others through a folder (study/cell_folder.h). One rank, the first that takes
// the study's lock, holds its file, and answers at the end; where it dies another does.
#ifndef ROPEWALK_STUDY_SHARED_STUDY_H_
#define ROPEWALK_STUDY_SHARED_STUDY_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/study/cell_folder.h"
#include "ropewalk/study/job_state.h"
#include "ropewalk/study/ranks.h"
#include "ropewalk/study/store.h"

namespace ropewalk {

class SharedStudy : public CellSource {
 public:
  // Opens the study, or joins the job that has it. Cells that a job left behind are put into the
  // study.
  //   path, identity  as StudyStore has them
  //   ranks           nothing: alone
  //   on_held         told once, when this process comes to hold the study's file; at once, or when
  //                   it takes over from a rank that died
  // Throws Error as StudyStore does; where another job has the study, too.
  SharedStudy(const std::string& path, const StudyIdentity& identity, std::optional<Ranks> ranks,
              std::function<void(StudyStore&)> on_held);

  // Null while another rank holds it.
  StudyStore* held() { return store_.get(); }
  // Another rank has finished the study, before this one came or while it ran.
  bool is_over() const { return is_over_; }

  Kept find_or_measure(const CellKey& key, const IsWhole& is_whole,
                       const Measure& measure) override;
  void share(const std::vector<Wanted>& wanted, const std::function<void()>& on_measured) override;
  bool is_shared() const override { return ranks_.has_value(); }

  // Waits until this rank holds the study, which is then finished by it; false where another has
  // finished it.
  bool await_hold();
  // Tells the other ranks that the study is finished.
  void finish();

 private:
  void join();
  void hold_or_hear_of_holder();
  bool hear_of(const JobState& job);
  bool hold_if_free();
  void hold(std::unique_ptr<StudyLock> lock);
  bool was_finished(StudyStore& store);
  void take_in_what_was_left();
  void exchange_cells();
  void take_in(const CellFolder& folder);  // what the study lacks
  std::optional<Cell> find(const CellKey& key, const IsWhole& is_whole);
  bool try_measure(const Wanted& wanted, std::optional<Cell>* own = nullptr);

  std::string path_;
  StudyIdentity identity_;
  std::optional<Ranks> ranks_;
  std::function<void(StudyStore&)> on_held_;
  std::unique_ptr<StudyStore> store_;
  std::unique_ptr<CellFolder> folder_;
  JobState job_;            // as the one who holds the study has it
  int64_t invocation_ = 0;  // that this process belongs to; 0: not known yet
  // Names of cells that were there when this rank came; nothing before it has looked.
  std::optional<std::set<std::string>> stored_;
  bool is_over_ = false;
};

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_SHARED_STUDY_H_
