/// toml++ without its assertions. One of them, that a table's header begins with a key, depends on the file, and toml++
/// itself refuses such a file just after. The assertion ends a debug build; in an optimised one it is an assumption, by
/// which clang may leave the refusal out.
#pragma once

#pragma push_macro("NDEBUG")  // where it is defined, assertions become assumptions
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>
#undef TOML_ASSERT
#pragma pop_macro("NDEBUG")
