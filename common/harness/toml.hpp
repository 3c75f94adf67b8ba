/// toml++, without what it takes for granted of a file: that a table's header begins with a key, which it checks just
/// after. In a debug build such a file ended the program; in an optimised one clang may leave the check out.
#pragma once

#pragma push_macro("NDEBUG")  // where it is defined, assertions become assumptions
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>
#undef TOML_ASSERT
#pragma pop_macro("NDEBUG")
