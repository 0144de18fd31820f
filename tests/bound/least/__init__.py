"""Programs whose least work was worked out by hand, by the kind of knowledge that finding it takes."""

from __future__ import annotations

from least import (
    caches,
    choices,
    decoding,
    definitions,
    disguised,
    equality,
    everything,
    experts_decoding,
    factoring,
    few_queries,
    formulas,
    gathers,
    known_values,
    loops,
    masks,
    rates,
    repetition,
    sums,
    widths,
    zeros,
)

MODULES = [
    masks,
    zeros,
    disguised,
    formulas,
    sums,
    repetition,
    equality,
    choices,
    definitions,
    widths,
    loops,
    rates,
    caches,
    decoding,
    gathers,
    everything,
    experts_decoding,
    few_queries,
    known_values,
    factoring,
]
