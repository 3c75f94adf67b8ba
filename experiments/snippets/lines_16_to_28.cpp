// Section 5.4: the loop nest of figure 5.9 is from line 16 to line 28.
#include "listing_5_9.hpp"

#ifdef MENDED
constexpr int last = 27;
#else
constexpr int last = 28;
#endif
static_assert(has(16, "for (") && listing[last] == "    }");
