"""Beyond the paper: the whole particle algorithm, which it leaves as future work [Sustr2021, Section 7].

`particle_resolving`, with the network that comes with the library, is measured in two ways. The first is its
exploitability by the most particles it may use: the agent acts at every information state with several seeds, and the
average over seeds is its policy; exploitability is per seat, as in `fl.exploitability`. The second is matches against
other agents with equal time per move. Budgets are seconds, so these results depend on the machine and do not follow
from the seed. A draw counts as half a win. In the full form a match comes in blocks of games; it counts from `LEAST`
games on.

Particles are limited at the leaves of a trunk, so the first trunk, from the start of the game, is complete.
"""

from pathlib import Path
from typing import Any

from foglight.agent_policies import agent_policy
from foglight.arena.intervals import wilson
from foglight.arena.report import win_rate_bars
from foglight.pictures import panels, save
from foglight.policies import Uniform
from foglight.solving.solver import exploitability
from foglight.studies import _matches
from foglight.studies._claims import Claim, Estimate, finding
from foglight.studies._tables import Results, chosen
from foglight.studies._trunks import limited_torch
from foglight.text import markdown

ALL = 10**6  # particles: more than the histories of any public state of these games
PARTICLES = {"leduc_poker": (1, 3, 10, 20, ALL), "goofspiel(cards=5)": (1, 3, 10, 30, 100, ALL)}
SEEDS = {True: 2, False: 8}  # seeds to average over, by quick
DEPTHS = {"leduc_poker": 5, "goofspiel(cards=5)": 4}  # in transitions, of the trunks that the networks were trained for
RIVALS = {"ismcts": "ismcts(time={})", "oos": "oos(time={})", "epimc": "epimc(time={})", "random": "random"}
MATCHES = ("goofspiel(cards=5)", "goofspiel(cards=13)")
SECONDS = {True: 0.1, False: 0.2}  # per move, by quick
GAMES = {True: 20, False: 400}  # per match, by quick
LEAST = 50  # games of each match, from which on the full form counts
GROWS = True
EXPLOITABILITY, MATCH = "exploitability", "match"


def cells(quick: bool, seed: int) -> dict[str, dict[str, Any]]:
    result: dict[str, dict[str, Any]] = {}
    for game, counts in PARTICLES.items():
        result[f"{game}, uniform"] = {"what": EXPLOITABILITY, "game": game, "particles": 0}
        for particles in counts:
            result[f"{game}, {_count(particles)}"] = {
                "what": EXPLOITABILITY,
                "game": game,
                "particles": particles,
                "seeds": SEEDS[quick],
                "seed": seed,
            }
    matches = {
        f"{game}, {rival}": {
            "what": MATCH,
            "game": game,
            "line": rival,
            "ratio": 1,
            "agent": f"particle_resolving(time={SECONDS[quick]:g},network=auto)",
            "opponent": spec.format(SECONDS[quick]),
            "seconds": SECONDS[quick],
            "games": GAMES[quick],
            "seed": seed,
        }
        for game in MATCHES
        for rival, spec in RIVALS.items()
    }
    return result | (matches if quick else _matches.in_blocks(matches))


def work(what: str, **arguments: Any) -> dict[str, Any]:
    limited_torch()
    return {"what": what} | (_exploitability(**arguments) if what == EXPLOITABILITY else _match(**arguments))


def _exploitability(
    game: str, particles: int, seeds: int = 1, seed: int = 0, iterations: int = 100, network: str = "auto"
) -> dict[str, Any]:
    """The exploitability of the agent with this many particles; with 0, of uniform play."""
    about = {"game": game, "particles": particles, "seeds": seeds}
    if particles == 0:
        return about | {"exploitability": exploitability(game, Uniform())}
    depth = DEPTHS.get(game, 2)  # given, because by default the agent would solve games this small to their end
    agent = f"particle_resolving(particles={particles},iterations={iterations},network={network},depth={depth})"
    return about | {"exploitability": exploitability(game, agent_policy(agent, game, seed=seed, seeds=seeds))}


def _match(seconds: float, **arguments: Any) -> dict[str, Any]:
    return _matches.meet(**arguments) | {"seconds": seconds}


def _count(particles: int) -> str:
    return "all" if particles == ALL else f"{particles}"


def _met(results: Results) -> Results:
    """The matches, without what is known of exploitability."""
    return {name: result for name, result in results.items() if result["what"] == MATCH}


def _points(results: Results) -> list[dict[str, Any]]:
    """The results of the matches, those of blocks joined."""
    return [point for points in _matches.grouped(_met(results)).values() for point in points]


def kept(results: Results) -> Results:
    """One result for each match, with its spans of games."""
    scores = {name: result for name, result in results.items() if result["what"] == EXPLOITABILITY}
    joined = _matches.kept(_met(results)).values()
    return scores | {f"{result['game']}, {result['line']}": result for result in joined}


def enough(cells: _matches.Cells, results: Results) -> bool:
    """Whether all exploitabilities are known, and every match has enough games."""
    played = {(point["game"], point["line"]): point["games"] for point in _points(results)}
    return all(
        played.get((one["game"], one["line"]), 0) >= LEAST if one["what"] == MATCH else name in results
        for name, one in cells.items()
    )


covered, matching = _matches.covered, _matches.matching


def _by_particles(results: Results, game: str) -> dict[int, dict[str, Any]]:
    """The exploitabilities in a game by number of particles; 0 is uniform play."""
    return {result["particles"]: result for result in chosen(results, what=EXPLOITABILITY, game=game)}


def table(results: Results) -> str:
    scores: list[list[Any]] = []
    for game in PARTICLES:
        by_count = _by_particles(results, game)
        if 0 not in by_count:
            continue
        uniform = by_count.pop(0)["exploitability"]
        for particles, result in by_count.items():
            score = result["exploitability"]
            scores.append([f"`{game}`", _count(particles), f"{score:.3f}", f"{score / uniform:.1%}", result["seeds"]])
        scores.append([f"`{game}`", "uniform play", f"{uniform:.3f}", "100 %", ""])
    matches = []
    for point in _points(results):
        ours, theirs = (f"{ms:.0f}" if ms is not None else "" for ms in point["ms"])
        who = f"`{point['game']}`", f"`{point['line']}`", _matches.rate_text(point), f"{point['seconds']:g}"
        matches.append([*who, ours, theirs, point["overruns"][0] or 0, point["games"]])
    late = "Intervals are 95 %; late are moves that took more than 20 % plus 5 ms over their time."
    columns = ["game", "against", "win share", "s a move", "ms, ours", "ms, theirs", "late, ours", "games"]
    first = markdown(["game", "particles", "exploitability", "of uniform", "seeds"], scores)
    return f"{first}\n{markdown(columns, matches, left=(0, 1))}\n{late}\n"


def claims(results: Results) -> list[Claim]:
    shares, matches = [], []
    for game in PARTICLES:
        by_count = _by_particles(results, game)
        if not {0, ALL} <= by_count.keys():
            continue
        share = by_count[ALL]["exploitability"] / by_count[0]["exploitability"]
        shares.append(f"{game} {100 * share:.1f} %")
    for point in _points(results):
        rate = Estimate(point["score"] / point["games"], *wilson(point["score"], point["games"]))
        matches.append(f"{point['game']}, {point['line']} {rate.text(0, '%')}")
    return [
        finding(
            "How exploitable is the whole particle algorithm, which the paper leaves as future work?",
            f"of uniform play's exploitability, with all particles: {'; '.join(shares)}",
            "With the network that comes with the library, and a given depth, so that the network counts.",
        ),
        finding("How often does it win at equal time?", "; ".join(matches), "Draws count as half a win."),
    ]


def draw(results: Results, path: Path) -> None:
    figure, parts = panels(4, 10, 7, columns=2)
    for axes, game in zip(parts[:2], PARTICLES, strict=True):
        by_count = _by_particles(results, game)
        if 0 not in by_count:
            continue
        uniform = by_count.pop(0)["exploitability"]
        scores = [result["exploitability"] for result in by_count.values()]
        axes.plot(range(len(scores)), scores, "o-", label="particle_resolving")
        axes.axhline(uniform, color="black", linestyle=":", linewidth=1, label="uniform play")
        axes.set_xticks(range(len(scores)), list(map(_count, by_count)))
        axes.set(title=game, xlabel="particles", ylabel="exploitability, per seat", ylim=(0, None))
        axes.legend()
    for axes, game in zip(parts[2:], MATCHES, strict=True):
        here = [point for point in _points(results) if point["game"] == game]
        points = {point["line"]: (point["score"], point["games"]) for point in here}
        win_rate_bars(axes, points, title=game, xlabel="win share of particle_resolving, equal time")
    save(figure, path)
