"""Beyond the paper: the whole particle algorithm, which it leaves as future work [Sustr2021, Section 7].

`particle_resolving` with the network that comes with the library, in two ways. How exploitable it is by the number of
particles it may hold: asked at every information state with several seeds, and what it does on average is taken for its
policy; per seat, as `fl.exploitability` says it. And how it does against others with equal time for a move; budgets are
seconds, so these results depend on the machine and do not follow from the seed. A draw counts as half a win.

Particles are bounded where a trunk ends, so the first trunk, from the start of the game, is always whole.
"""

from pathlib import Path
from typing import Any

from foglight.arena.report import win_rate_bars
from foglight.pictures import panels, save
from foglight.policies import Uniform
from foglight.solving.whole.solver import exploitability
from foglight.studies import _matches
from foglight.studies._tables import Results, chosen, markdown
from foglight.studies._trunks import limited_torch
from foglight.studies.search_exploitability import average_policy

ALL = 10**6  # particles: more than any public state of these games has histories
PARTICLES = {"leduc_poker": (1, 3, 10, 20, ALL), "goofspiel(cards=5)": (1, 3, 10, 30, 100, ALL)}
SEEDS = {True: 2, False: 8}  # by quick
DEPTHS = {"leduc_poker": 5, "goofspiel(cards=5)": 4}  # of the trunks that the networks were trained for
RIVALS = {"ismcts": "ismcts(time={})", "oos": "oos(time={})", "epimc": "epimc(time={})", "random": "random"}
MATCHES = ("goofspiel(cards=5)", "goofspiel(cards=13)")
SECONDS = {True: 0.1, False: 0.2}  # for a move
GAMES = {True: 20, False: 400}
ASKED, MET = "exploitability", "match"


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for game, counts in PARTICLES.items():
        found[f"{game}, uniform"] = {"what": ASKED, "game": game, "particles": 0}
        for particles in counts:
            found[f"{game}, {_count(particles)}"] = {
                "what": ASKED,
                "game": game,
                "particles": particles,
                "seeds": SEEDS[quick],
                "seed": seed,
            }
    for game in MATCHES:
        for rival, spec in RIVALS.items():
            found[f"{game}, {rival}"] = {
                "what": MET,
                "game": game,
                "rival": rival,
                "opponent": spec.format(SECONDS[quick]),
                "seconds": SECONDS[quick],
                "games": GAMES[quick],
                "seed": seed,
            }
    return found


def work(what: str, **arguments: Any) -> dict[str, Any]:
    limited_torch()
    return {"what": what} | (_exploitability(**arguments) if what == ASKED else _match(**arguments))


def _exploitability(
    game: str, particles: int, seeds: int = 1, seed: int = 0, iterations: int = 100, network: str = "auto"
) -> dict[str, Any]:
    """Of the agent with so many particles; with none, of uniform play."""
    found = {"game": game, "particles": particles, "seeds": seeds}
    if particles == 0:
        return found | {"exploitability": exploitability(game, Uniform())}
    depth = DEPTHS.get(game, 2)  # given, or it would solve games this small to their end
    agent = f"particle_resolving(particles={particles},iterations={iterations},network={network},depth={depth})"
    return found | {"exploitability": exploitability(game, average_policy(agent, game, seeds, seed))}


def _match(
    game: str, rival: str, opponent: str, seconds: float, games: int, seed: int, network: str = "auto"
) -> dict[str, Any]:
    agent = f"particle_resolving(time={seconds:g},network={network})"
    return _matches.meet(game, rival, 1, agent, opponent, games, seed) | {"seconds": seconds}


def _count(particles: int) -> str:
    return "all" if particles == ALL else f"{particles}"


def _asked(results: Results, game: str) -> dict[int, dict[str, Any]]:
    """By number of particles; 0 is uniform play."""
    return {result["particles"]: result for result in chosen(results, what=ASKED, game=game)}


def table(results: Results) -> str:
    asked: list[list[Any]] = []
    for game in PARTICLES:
        by_count = _asked(results, game)
        uniform = by_count.pop(0)["exploitability"]
        for particles, result in by_count.items():
            score = result["exploitability"]
            asked.append([f"`{game}`", _count(particles), f"{score:.3f}", f"{score / uniform:.1%}", result["seeds"]])
        asked.append([f"`{game}`", "uniform play", f"{uniform:.3f}", "100 %", ""])
    met = []
    for point in chosen(results, what=MET):
        ours, theirs = (f"{ms:.0f}" if ms is not None else "" for ms in point["ms"])
        who = f"`{point['game']}`", f"`{point['line']}`", _matches.rate_text(point), f"{point['seconds']:g}"
        met.append([*who, ours, theirs, point["overruns"][0] or 0, point["games"]])
    late = "Intervals are 95 %; late are moves that took more than 20 % plus 5 ms over their time."
    columns = ["game", "against", "win share", "s a move", "ms, ours", "ms, theirs", "late, ours", "games"]
    first = markdown(["game", "particles", "exploitability", "of uniform", "seeds"], asked)
    return f"{first}\n{markdown(columns, met, left=(0, 1))}\n{late}\n"


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(4, 10, 7, columns=2)
    for axes, game in zip(parts[:2], PARTICLES, strict=True):
        by_count = _asked(results, game)
        uniform = by_count.pop(0)["exploitability"]
        scores = [result["exploitability"] for result in by_count.values()]
        axes.plot(range(len(scores)), scores, "o-", label="particle_resolving")
        axes.axhline(uniform, color="black", linestyle=":", linewidth=1, label="uniform play")
        axes.set_xticks(range(len(scores)), list(map(_count, by_count)))
        axes.set(title=game, xlabel="particles", ylabel="exploitability, per seat", ylim=(0, None))
        axes.legend()
    for axes, game in zip(parts[2:], MATCHES, strict=True):
        points = {point["line"]: (point["score"], point["games"]) for point in chosen(results, what=MET, game=game)}
        win_rate_bars(axes, points, title=game, xlabel="win share of particle_resolving, equal time")
    save(figure, path)
