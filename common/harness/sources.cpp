#include "common/harness/sources.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/harness/toml.hpp"
#include "common/record_checks.hpp"
#include "common/source_dir.hpp"

namespace rung {
namespace {

const std::vector<std::string> kSourceKeys{"author",    "organisation", "title", "translation", "year", "edition",
                                           "publisher", "venue",        "doi",   "url",         "kind"};

std::map<std::string, Source> read_sources(const std::filesystem::path& file) {
  std::map<std::string, Source> all;
  if (!exists(file)) return all;
  try {
    const toml::table document = toml::parse_file(file.string());
    for (const auto& [id, node] : document) {
      const toml::table* entry = node.as_table();
      const std::string what = file.string() + ": '" + std::string(id.str()) + "' ";
      if (!entry || !entry->contains("author") || !entry->contains("title"))
        throw Error(what + "needs an author and a title");
      for (const auto& [key, value] : *entry)
        if (const std::string name(key.str()); std::count(kSourceKeys.begin(), kSourceKeys.end(), name) == 0)
          throw Error(what + "has an unknown key '" + name + "'" + did_you_mean(name, kSourceKeys));
      const auto year = (*entry)["year"].value<std::int64_t>();
      all[std::string(id.str())] = {(*entry)["author"].value_or(std::string()),
                                    (*entry)["title"].value_or(std::string()), year ? std::to_string(*year) : ""};
    }
  } catch (const toml::parse_error& error) {
    throw Error(file.string() + ", line " + std::to_string(error.source().begin.line) + ": " +
                std::string(error.description()));
  }
  return all;
}

}  // namespace

const std::map<std::string, Source>& sources() {
  static const auto all = read_sources(source_dir() / "experiments" / "sources.toml");
  return all;
}

void require_source(const Citation& citation) {
  if (sources().empty() || sources().contains(citation.id)) return;  // none: the program without its folder
  std::vector<std::string> known;
  for (const auto& [id, source] : sources()) known.push_back(id);
  throw Error("its source '" + citation.id + "' is no entry of experiments/sources.toml" +
              did_you_mean(citation.id, known));
}

namespace {

const bool has_sources = add_record_check([](const Kernel& kernel) -> std::string {
  try {
    for (const Citation& citation : kernel.source) require_source(citation);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
});

}  // namespace

std::string cited(const Citation& citation) {
  const auto found = sources().find(citation.id);
  std::string text = citation.id;
  if (found != sources().end()) {
    const auto& [author, title, year] = found->second;
    text = author + ", " + title + (year.empty() ? "" : ", " + year);
  }
  return citation.where.empty() ? text : text + ", " + citation.where;
}

}  // namespace rung
