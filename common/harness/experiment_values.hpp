/// The values of an experiment file's keys, read strictly: each function throws Error, naming the key, for what it is
/// not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/harness/toml.hpp"
#include "common/model/devices.hpp"
#include "common/registry.hpp"

namespace rung {

[[noreturn]] void wrong_type(const std::string& key, const char* wanted);

/// A whole number or a list of them; at least one.
std::vector<std::int64_t> numbers(const std::string& key, const toml::node& node);
/// A word or a list of them; at least one.
std::vector<std::string> words(const std::string& key, const toml::node& node);
/// Values of a size or tunable: whole numbers, words, or a list of them; at least one.
std::vector<Value> values(const std::string& key, const toml::node& node);
/// The list of tables of the key `source`, as [{id = "pmpp", where = "section 5.4"}].
std::vector<Citation> citations(const std::string& key, const toml::node& node);
/// A number above 0, up to 1e6.
double positive_number(const std::string& key, const toml::node& node);
bool truth(const std::string& key, const toml::node& node);
/// Numbers of threads, a number or a list: each from 0, for all, to 1024.
std::vector<int> thread_counts(const std::string& key, const toml::node& node);
/// The list of tables of the key `sizes`, each of whole numbers.
std::vector<Params> shapes(const toml::node& node);
/// The device of the key `caches`; also an error if there is no model of its caches.
const Device* modelled_device(const std::string& key, const toml::node& node);

}  // namespace rung
