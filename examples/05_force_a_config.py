"""A kernel of your own choice: which configs there are, what a rule forbids, and the assembly of one."""

import numpy as np

import tilewright as tw
from tilewright.catalog import STENCILS
from tilewright.planning.dispatch import device
from tilewright.targets.cpu import llvm

problem = tw.Problem.parse("d:8x8x8@1000")[0]
here, tile = device(), STENCILS["tile"]
space = tile.space(problem, here)
print(f"{space.size:,} combinations, {sum(1 for _ in space):,} pass every rule")

# One tile of half of the columns, a row of B held, and A streamed.
config = tile.default(problem, here).with_(blk_n=4, inner="row", reg_a=1, reg_b=4)
print("chosen:", config)
print("broken rules:", [rule.name for rule in space.why(config)])
print("with too many registers:", [rule.name for rule in space.why(config.with_(reg_b=40, blk_n=40))])

a, b = np.random.default_rng(0).standard_normal((2, 1000, 8, 8))
product = tw.plan(a, b, stencil="tile", config=config)
print("origin:", product.plan.origin, "right:", np.allclose(product(a, b), a @ b))

source = tile.source(problem, config, here)
facts = llvm.compile(source, here).facts
print("facts:", dict(facts))
text = llvm.assembly(source, here).splitlines()
first = next(number for number, line in enumerate(text) if "fmadd" in line or "fmla" in line)
print("\n".join(text[first - 6 : first + 10]))
