// The index lines of the textbook's tiled product (4th edition, figure 5.9; 3rd edition, figure 4.16), for the threads
// of its small examples. The snippets assert the text's statements at compile time.
constexpr int TILE_WIDTH = 2;

struct Place {  // row and column, as in M(0,3)
  int row, column;
  constexpr bool operator==(const Place&) const = default;
};

struct Thread {  // thread ty,tx of block by,bx
  int by, bx, ty, tx;
  constexpr int Row() const { return by * TILE_WIDTH + ty; }                                   // line 11
  constexpr int Col() const { return bx * TILE_WIDTH + tx; }                                   // line 12
  constexpr int m(int Width, int ph) const { return Row() * Width + ph * TILE_WIDTH + tx; }    // line 19
  constexpr int n(int Width, int ph) const { return (ph * TILE_WIDTH + ty) * Width + Col(); }  // line 20
  // The elements that these lines mean, with the row and the column that are in their indices.
  constexpr Place of_m(int ph) const { return {Row(), ph * TILE_WIDTH + tx}; }
  constexpr Place of_n(int ph) const { return {ph * TILE_WIDTH + ty, Col()}; }
  constexpr bool has_m(int Width, int ph) const { return of_m(ph).row < Width && of_m(ph).column < Width; }
  constexpr bool has_n(int Width, int ph) const { return of_n(ph).row < Width && of_n(ph).column < Width; }
  constexpr bool has_p(int Width) const { return Row() < Width && Col() < Width; }
};

constexpr Place element(int index, int Width) { return {index / Width, index % Width}; }

// What a thread attempts to access in a phase.
struct Access {
  int ty, tx;
  Place m, n;
};

// Whether lines 19 and 20 have the indices of these elements, and which of the elements exist.
constexpr bool attempts(int by, int bx, int ph, int Width, const Access& one, bool has_m, bool has_n) {
  const Thread thread{by, bx, one.ty, one.tx};
  return thread.of_m(ph) == one.m && thread.m(Width, ph) == one.m.row * Width + one.m.column &&
         thread.of_n(ph) == one.n && thread.n(Width, ph) == one.n.row * Width + one.n.column &&
         thread.has_m(Width, ph) == has_m && thread.has_n(Width, ph) == has_n;
}
