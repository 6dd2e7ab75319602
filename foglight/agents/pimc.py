"""Perfect information Monte Carlo [Long2010]: EPIMC that looks one decision ahead, and sees open worlds from there."""

from dataclasses import dataclass, field

from foglight.agents.epimc import RECORDED, Epimc


@dataclass
class Pimc(Epimc):
    """tries each action in sampled worlds, as if all cards lay open from then on"""

    depth: int = field(init=False, default=1)
    subgame: int = field(init=False, default=RECORDED)
    least: float = field(init=False, default=0.0)
    explore: float = field(init=False, default=0.0)
