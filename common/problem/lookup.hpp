/// "lookup": every thread repeatedly reads words of a small table, to measure the cost of a read by the table's place
/// in memory and by the number of addresses in a warp.
///
/// Sizes     n: threads, up to 2^28; rounds: reads of each, up to 2^20 (1 if not given).
///           rows: of the table, a power of two up to kLookupRows (16 if not given); a row has 32 words.
///           distinct: addresses that the lanes of a warp have in a round, 1, 2, 4, 8, 16 or 32 (1 if not given).
///           chain: dependent, where each read gives the place of the next one, or independent.
/// Operand 0 `table`, input: 32 rows words of uint32, by rows. The low bits of a word, modulo rows, are a row, the same
///           in all words of its row; from any row, all rows are passed before the first comes again. The other bits
///           are random.
/// Operand 1 `sums`, output: n uint32.
/// Formula   thread i starts in row (i / 32) mod rows and always reads column i mod distinct. A dependent chain
///           continues with the row that the word gives, an independent one with the next row modulo rows. sums[i] is
///           the sum of the words that are read, modulo 2^32.
/// Useful operations: none in floating point. Reads per second are compared.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// So large that the table takes half of the 64 KiB of constant memory.
constexpr int kLookupRows = 256;
constexpr int kLookupColumns = 32;

enum class LookupChain { dependent, independent };

inline double lookup_table_bytes(const Params& p) { return 4.0 * kLookupColumns * p.at("rows"); }

}  // namespace rung
