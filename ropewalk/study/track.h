// What the race and the search past its grid run on: candidates, and their passes over the windows,
// each found in the study or measured, told of and timed.
#ifndef ROPEWALK_STUDY_TRACK_H_
#define ROPEWALK_STUDY_TRACK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/study/race.h"

namespace ropewalk {

// Candidates of one kind race among themselves, so that a winner of each comes through.
enum class Kind {
  kAlways,    // "declared", and what truncates: shown in every table
  kPortable,  // the engine asked for runs it
  kOther,
};

inline constexpr Kind kKinds[] = {Kind::kAlways, Kind::kPortable, Kind::kOther};

// What passes took.
struct Timed {
  double seconds = 0;
  int64_t tokens = 0;

  void add(double taken, size_t count);
  bool known() const { return tokens > 0; }
  double of(size_t count) const;  // that so many tokens will take
};

struct Runner {
  Candidate candidate;
  SchemeFacts facts;
  Kind kind = Kind::kOther;
  std::string family;            // the names of its parts
  bool may_be_left_out = false;  // for want of time
  bool depends_on_length = false;
  Positions positions;
  Timed timed;
  size_t number = 0;  // in the order of entry
};

class Track {
 public:
  // All are kept by reference.
  Track(const Model& model, const std::vector<Window>& windows, const RaceOptions& options,
        CellSource& cells, const std::function<void(const RaceProgress&)>& progress);

  const RaceOptions& options() const { return options_; }
  const Rotary& declared() const;  // of the first layers that rotate
  int64_t trained_length() const { return trained_; }

  // ---- candidates

  // Not among the runners yet. "declared" must be the first. Throws Error where the scheme does not
  // fit the model.
  //   found_by  as Candidate has it
  Runner make(const std::string& scheme, const std::string& found_by = {}) const;
  Runner& add(Runner runner);
  Runner* find(const std::string& scheme);  // canonical; null where there is none
  std::deque<Runner>& runners() { return runners_; }

  // ---- passes

  // Runs a window and puts it into the runner's tallies. Its losses.
  std::vector<double> score(Runner& runner, size_t window);
  // Both passes of the copy test of a window; none where it has no room for one.
  void copy_test(Runner& runner, size_t window);
  // The same for a window that is held out.
  void score_held_out(Runner& runner, size_t window);
  void copy_test_held_out(Runner& runner, size_t window);

  // Losses of a window, as the study has them or as they are measured now; nothing is tallied, and
  // the time counts where the pass has its turn.
  Cell pass(Runner& runner, size_t window);

  bool is_shared() const { return cells_.is_shared(); }  // by other ranks
  // What will be run next, all ranks sharing in it. Nothing is tallied, and no time counts.
  //   scored, copied  windows that each of the runners will run, and run the copy test on
  void share(const std::vector<Runner*>& runners, std::span<const size_t> scored,
             std::span<const size_t> copied = {});

  // ---- time

  double spent() const { return spent_; }  // seconds, of every pass that counts
  // Of a pass over the longest window, a mean over each kind, by what passes took so far: its own,
  // else those of the same kind of work, else those of the kind.
  ByKind<double> pass_seconds(const std::vector<Runner*>& racing) const;
  // From one pass of each kind of work among them, none of which counts.
  void time_each_work(const std::vector<Runner*>& racing, size_t window);
  void forget_times() { timed_.clear(); }
  // Takes what options().tokens_besides cost off the budget, by the times that are known now.
  void spend_besides() { spent_ += pass_seconds_of(runners_.front(), options_.tokens_besides); }

  // ---- progress

  size_t done() const { return progress_now_.done; }
  void set_planned(size_t passes) { progress_now_.planned = passes; }
  void set_stage(const std::string& stage) { stage_ = stage; }  // before the label of each pass

 private:
  // `ids` and the runner are kept by reference.
  CellSource::Wanted wanted(Runner& runner, const std::string& text, size_t window,
                            const std::vector<int32_t>& ids);
  Cell found_or_measured(Runner& runner, const std::string& text, size_t window,
                         const std::vector<int32_t>& ids);
  std::vector<double> losses(Runner& runner, const std::string& text, size_t window,
                             const std::vector<int32_t>& ids);
  void copy_test(Runner& runner, size_t window, Tallies& tallies);
  double pass_seconds_of(const Runner& runner, size_t tokens) const;
  void label(const Runner& runner, const std::string& text, size_t window);
  void report(double share);

  // Candidates of which a pass takes about as long.
  using Work = std::pair<Kind, bool>;  // whether the spectrum goes by the length
  static Work work_of(const Runner& runner) { return {runner.kind, runner.depends_on_length}; }

  const Model& model_;
  const std::vector<Window>& windows_;
  const RaceOptions& options_;
  CellSource& cells_;
  const std::function<void(const RaceProgress&)>& progress_;
  int64_t trained_;
  double spent_ = 0;
  std::map<Work, Timed> timed_;
  std::set<CellKey> counted_;   // as run now or as resumed
  std::deque<Runner> runners_;  // "declared" first
  RaceProgress progress_now_;
  size_t ahead_ = 0;  // passes that are done or were shared before their turn
  std::string stage_;
};

// By its windows so far; as rank_value() has it.
double rank_of(const Runner& runner);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_TRACK_H_
