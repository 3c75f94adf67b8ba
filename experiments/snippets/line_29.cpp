// Section 5.4: in line 29 of figure 5.9 all threads write their element of P.
#include "listing_5_9.hpp"

#ifdef MENDED
static_assert(has(28, "P[Row*Width + Col] = Pvalue;"));
#else
static_assert(has(29, "P[Row*Width + Col] = Pvalue;"));
#endif
