#include "cli/study_table.h"

#include <map>

#include "ropewalk/formats/json_file.h"
#include "ropewalk/study/record.h"

namespace ropewalk {
namespace {

std::string table_record(const StudyTable& added) {
  nlohmann::ordered_json out = to_json(added.table);
  out["picture"] = {{"description", added.description}, {"spec", added.spec}};
  return dump_json(out);
}

}  // namespace

void put_tables(StudyStore& store, const std::vector<StudyTable>& tables) {
  std::map<std::string, std::string> records;
  for (const StudyTable& one : tables) records[kTableRecords + one.table.name] = table_record(one);
  store.put_records(records);
}

}  // namespace ropewalk
