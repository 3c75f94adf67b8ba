// options: -std=c++17
// C++17 on the host, compiled by nvcc: structured bindings, if with an initialiser, fold expressions, optional.
#include <map>
#include <optional>
#include <string>

template <typename... Numbers>
int sum(Numbers... numbers) {
  return (numbers + ...);
}

std::optional<int> find(const std::map<std::string, int>& known, const std::string& name) {
  for (const auto& [key, value] : known)
    if (key == name) return sum(value, 1, 2);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  return std::nullopt;
}

__global__ void answer(int* result) { *result = 42; }
