"""Programs whose least work was worked out by hand, by the kind of knowledge that finding it takes."""

from __future__ import annotations

from least import disguised, equality, formulas, masks, repetition, sums, zeros

MODULES = [masks, zeros, disguised, formulas, sums, repetition, equality]
