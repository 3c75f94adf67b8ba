#include "common/harness/sources.hpp"

#include <filesystem>

#include "common/harness/toml.hpp"
#include "common/source_dir.hpp"

namespace rung {
namespace {

std::map<std::string, Source> read_sources(const std::filesystem::path& file) {
  std::map<std::string, Source> all;
  if (!exists(file)) return all;
  try {
    const toml::table document = toml::parse_file(file.string());
    for (const auto& [id, node] : document) {
      const toml::table* entry = node.as_table();
      if (!entry || !entry->contains("author") || !entry->contains("title"))
        throw Error(file.string() + ": '" + std::string(id.str()) + "' needs an author and a title");
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
