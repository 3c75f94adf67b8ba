#include "common/harness/begun.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/descriptor.hpp"
#include "common/harness/supervisor.hpp"
#include "common/json_text.hpp"
#include "common/read_file.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::map<std::string, std::string>;

/// The first line: of one length, so that a signal handler can write the second over the first.
constexpr const char kBegan[] = "began\n", kEnded[] = "ended\n";
constexpr std::size_t kLength = sizeof kBegan - 1;
static_assert(sizeof kBegan == sizeof kEnded);
constexpr std::size_t kMostOfBegun = std::size_t{64} << 20;

/// Identifies the present boot of the machine; empty if the system has no such identifier.
std::string boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

/// Throws Json::exception.
void add(const Json& written, const char* key, Names& names) {
  for (const auto& [name, why] : written.at(key).items()) names.try_emplace(name, why.get<std::string>());
}

}  // namespace

Begun::Begun(const std::filesystem::path& folder) : file_(file_in(folder)) {}

std::filesystem::path Begun::file_in(const std::filesystem::path& folder) {
  return std::filesystem::absolute(folder) / "begun.json";
}

void Begun::add_to(Supervision& state, bool counts_last) const try {
  const Descriptor descriptor(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!descriptor.is_open() || !is_regular_file(descriptor)) return;
  const std::string text = read_from(descriptor, kMostOfBegun);
  if (text.size() < kLength) return;
  const Json written = Json::parse(text.substr(kLength));
  Supervision all = state;
  add(written, "struck", all.struck);
  add(written, "alone", all.alone);
  add(written, "lost", all.lost);
  const auto points = written.at("points").get<std::vector<std::string>>();
  const bool is_lost = counts_last && text.starts_with(kBegan) && !points.empty() && written.at("boot") == boot();
  if (is_lost) strike(points, "the run was killed while it was measured", false, true, all);
  state = all;
} catch (const Json::exception&) {  // torn or changed
} catch (const Error&) {
}

void Begun::begin(const std::vector<std::string>& points, const Supervision& state) const {
  const Json now = {
      {"boot", boot()}, {"points", points}, {"struck", state.struck}, {"alone", state.alone}, {"lost", state.lost}};
  const std::string text = kBegan + json_text(now) + "\n";
  const Descriptor descriptor(::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0644));
  if (!descriptor.is_open() || !is_regular_file(descriptor)) return;
  const ssize_t wrote = ::pwrite(descriptor, text.data(), text.size(), 0);
  if (wrote < 0 || ::ftruncate(descriptor, wrote) != 0) end();
}

void Begun::end() const { end(file_.c_str()); }

void Begun::end(const char* file) {
  if (!file[0]) return;
  const int descriptor = ::open(file, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) return;
  if (::pwrite(descriptor, kEnded, kLength, 0) < 0) {  // it counts as one that did not end
  }
  ::close(descriptor);
}

void Begun::remove() const { ::unlink(file_.c_str()); }

}  // namespace rung
