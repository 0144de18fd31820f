"""Programs whose least work was worked out by hand, by the kind of knowledge that finding it takes."""

from __future__ import annotations

from least import choices, definitions, disguised, equality, formulas, masks, repetition, sums, widths, zeros

MODULES = [masks, zeros, disguised, formulas, sums, repetition, equality, choices, definitions, widths]
