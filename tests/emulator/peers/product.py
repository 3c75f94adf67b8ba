"""Shared by the measurements of other emulators: the product's inputs, its right result and its accesses to memory."""

from __future__ import annotations

from random import Random

TILE = 16


def accesses(n: int) -> int:
    """Loads and stores of single threads in the 16-wide tiled n x n product, as the emulator of rung counts them.

    2 n^3 loads of shared memory, 2 n^3 / 16 loads of global memory, as many stores to shared memory, n^2 stores.
    """
    return 2 * n**3 + 4 * n**3 // TILE + n**2


def inputs(n: int) -> tuple[list[list[int]], list[list[int]]]:
    """Two matrices of seeded whole numbers from -8 to 8, so that the product is exact in any order."""
    source = Random(n)
    a, b = ([[source.randint(-8, 8) for _ in range(n)] for _ in range(n)] for _ in range(2))
    return a, b


def product(a: list[list[int]], b: list[list[int]]) -> list[list[int]]:
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]
