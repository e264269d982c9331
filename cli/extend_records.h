// What a run of `ropewalk extend` puts into its study beside the passes, so that it is reported
// without model and text.
#ifndef ROPEWALK_CLI_EXTEND_RECORDS_H_
#define ROPEWALK_CLI_EXTEND_RECORDS_H_

#include <cstdint>
#include <map>
#include <string>

#include "cli/extend_options.h"
#include "ropewalk/engine/model.h"
#include "ropewalk/study/bands.h"
#include "ropewalk/study/race.h"
#include "ropewalk/study/record.h"

namespace ropewalk {

// By canonical name.
using FactsByScheme = std::map<std::string, SchemeFacts>;

// Before anything is run, under the plan of a race where time does not matter.
StudyFacts describe_study(const ExtendOptions& options, const Model& model, const StudyText& text,
                          TargetEngine engine);

// What the race leaves out counts as if it had never been there.
void apply_plan(const ExtendOptions& options, const RacePlan& plan, const StudyText& text,
                StudyFacts& facts);

// Of all that the race begins with.
FactsByScheme describe_schemes(const Model& model, const RaceOptions& race);

void put_facts(StudyStore& store, const StudyFacts& facts, const FactsByScheme& schemes,
               const std::string& outcome = {});

void put_bias(StudyStore& store, const BiasReport& bias);

// That pair usage is told from.
size_t usage_tokens(const StudyText& text, int64_t trained);

// What pairs are used for inside the trained length; once in a study.
void put_usage(StudyStore& store, const Model& model, const StudyText& text);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_EXTEND_RECORDS_H_
