// The index lines of the textbook's tiled product (4th edition, figure 5.9; 3rd edition, figure 4.16), for the threads of
// its small examples. What the text says of them is asserted when a snippet is compiled.
constexpr int TILE_WIDTH = 2;

struct Place {  // row and column, as in M(0,3)
  int row, column;
  constexpr bool operator==(const Place&) const = default;
};

struct Thread {  // thread ty,tx of block by,bx
  int by, bx, ty, tx;
  constexpr int Row() const { return by * TILE_WIDTH + ty; }                                              // line 11
  constexpr int Col() const { return bx * TILE_WIDTH + tx; }                                              // line 12
  constexpr int m(int Width, int ph) const { return Row() * Width + ph * TILE_WIDTH + tx; }               // line 19
  constexpr int n(int Width, int ph) const { return (ph * TILE_WIDTH + ty) * Width + Col(); }             // line 20
  constexpr bool has_m(int Width, int ph) const { return Row() < Width && ph * TILE_WIDTH + tx < Width; }
  constexpr bool has_n(int Width, int ph) const { return ph * TILE_WIDTH + ty < Width && Col() < Width; }
  constexpr bool has_p(int Width) const { return Row() < Width && Col() < Width; }
};

constexpr Place element(int index, int Width) { return {index / Width, index % Width}; }
