"""What things look like in a console and in a notebook: one readable line, tables and boards as HTML."""

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Annotated

import pytest

import foglight as fl
from foglight.text import aligned, ansi, html_table, html_text


def played(game, *moves):
    state = fl.new_state(game)
    for move in moves:
        state.play(state.parse_action(move))
    return state


def tracked(game, *moves, seat=0, **options):
    tracker = fl.Tracker(game, seat, **options)
    for observation in played(game, *moves).observations(seat):
        tracker.observe(observation)
    return tracker


def thought(agent="pimc(iterations=40)"):
    state = played("kuhn_poker", "jack", "queen")
    agent = fl.load_agent(agent)
    fl.Seat(agent, state.game, 0, seed=0, observations=state.observations(0))
    agent.act(state.actions())
    why = agent.explain()
    why.seconds, why.values = 0.0123, [-1.25, -0.5]
    return why


def match():
    return fl.play_match("kuhn_poker", ["first_legal", "first_legal"], games=4)


def tournament():
    return fl.play_tournament(["kuhn_poker"], ["random", "first_legal"], games_each=40)


JACK = ("jack", "queen")
LINES = {
    "start": (lambda: fl.new_state("kuhn_poker"), "<State: kuhn_poker at the start; chance to move>"),
    "state": (lambda: played("phantom_ttt", "b2", "b2"), "<State: phantom_ttt after b2, b2; seat 1 to move>"),
    "over": (
        lambda: played("kuhn_poker", *JACK, "bet", "fold"),
        "<State: kuhn_poker after deal jack, deal queen, bet, fold; over, returns 1, -1>",
    ),
    "long": (
        lambda: played("battleship", "a1", "c3", "b2 right", "a1 down", *["a2"] * 7),
        "<State: battleship(*) after 11 actions, the last a1 down, a2, a2, a2, a2, a2, a2, a2; seat 1 to move>",
    ),
    "world": (
        lambda: fl.state_of("kuhn_poker", played("kuhn_poker", *JACK).world),
        "<State: kuhn_poker from a world alone; seat 0 to move>",
    ),
    "filter": (
        lambda: fl.history_filter("kuhn_poker", [1], viewer=0, mover=0),
        "<HistoryFilter: kuhn_poker, 1 observations of seat 0, to move, by layers>",
    ),
    "public filter": (
        lambda: fl.history_filter("kuhn_poker", []),
        "<HistoryFilter: kuhn_poker, 0 observations of the public, by layers>",
    ),
    "tracker": (
        lambda: tracked("kuhn_poker", *JACK),
        "<Tracker: kuhn_poker, seat 0, 1 observation, 3 worlds, all there are>",
    ),
    "sample": (
        lambda: tracked("phantom_ttt", "b2", "a1", "b1", cap=3),
        "<Tracker: phantom_ttt, seat 0, 2 observations, 3 worlds, a sample>",
    ),
    "worlds": (lambda: tracked("kuhn_poker", *JACK).worlds(), "<Worlds: 2 worlds, all there are>"),
    "belief": (
        lambda: fl.belief(played("kuhn_poker", *JACK)),
        "<Marginals: kuhn_poker: what seat 0 may think, 2 places, all 2 worlds>",
    ),
    "bare belief": (
        lambda: fl.history_filter("kuhn_poker", [1], viewer=0, mover=0).belief(),
        "<Marginals: belief, 2 places, all 2 worlds>",
    ),
    "certain belief": (
        lambda: fl.belief(fl.new_state("kuhn_poker"), 0),
        "<Marginals: kuhn_poker: what seat 0 may think, 2 places, the only world>",
    ),
    "tabular": (lambda: fl.agent_policy("random", "kuhn_poker"), "<Tabular policy: 12 information states>"),
    "uniform": (fl.Uniform, "Uniform()"),
    "solved": (
        lambda: fl.solve("kuhn_poker", method="lp"),
        "<Solved policy for kuhn_poker: lp, 12 information states, value -0.05556, exploitability *>",
    ),
    "match": (match, "<MatchResult: kuhn_poker, 4 games, seed 0; first_legal 25.0%, first_legal 75.0%>"),
    "tournament": (
        tournament,
        "<Tournament: kuhn_poker, 40 games played, seed 0; random +132, first_legal -132 Elo>",
    ),
    "explanation": (
        thought,
        "<Explanation: action * of 0, 1; value *; 2 worlds, all there are; 40 iterations; 12.3 ms>",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_things_are_one_readable_line(name):
    make, line = LINES[name]
    begin, *middle, end = line.split("*") if "*" in line else (line, "")
    shown = repr(make())
    assert shown.startswith(begin) and shown.endswith(end) and all(part in shown for part in middle)
    assert "\n" not in shown and len(shown) <= 170 and (shown == line or "*" in line)


class Balance(HTMLParser):
    """Counts tags, and complains about those that are left open or closed twice."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], {}, ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags[tag] = self.tags.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def analysis():
    return fl.analyse(played("kuhn_poker", *JACK), "pimc(iterations=40)")


HTML = {
    "policy": (lambda: fl.solve("kuhn_poker", 10), {"table": 1, "tr": 6}, "12 information states"),
    "policy table": (lambda: fl.Uniform().table("kuhn_poker"), {"tr": 13, "td": 48, "th": 4}, "fold 50 %  call 50 %"),
    "match": (match, {"tr": 3, "td": 8}, "4.6% to 69.9%"),
    "tournament": (tournament, {"table": 2, "tr": 6}, "+132"),
    "explanation": (thought, {"tr": 3, "td": 6}, "-1.250"),
    "analysis": (analysis, {"table": 2, "pre": 1}, "pimc(iterations=40) on seat 0 plays"),
}


@pytest.mark.parametrize("name", HTML)
def test_notebooks_get_tables(name):
    make, tags, text = HTML[name]
    page = Balance(make()._repr_html_())
    assert tags.items() <= page.tags.items() and text in page.text


def test_texts_are_escaped():
    bad = "<b>&\"'</b>"
    for html in (html_table([{bad: bad}], bad), html_text(bad, bad)):
        page = Balance(html)
        assert "b" not in page.tags and set(page.text.split("</b>")) == {"<b>&\"'", ""}


def test_tables_of_text():
    assert aligned([]) == ""
    assert aligned([{"name": "a", "n": 5}, {"name": "long one", "n": 1234}]) == (
        "name         n\na            5\nlong one  1234"
    )
    assert ansi("x", None) == "x" and ansi("x", 0.5) == "\x1b[48;2;130;32;0mx\x1b[0m"


def test_a_match_and_a_tournament_print_as_tables():
    assert str(match()).splitlines() == [
        "kuhn_poker, 4 games, seed 0",
        "agent        win rate  95 % interval   mean return",
        "first_legal  25.0%     4.6% to 69.9%   -0.500 ± 0.500",
        "first_legal  75.0%     30.1% to 95.4%  +0.500 ± 0.500",
    ]
    lines = str(tournament()).splitlines()
    assert lines[1].split() == ["agent", "Elo", "95", "%", "interval", "score"] and lines[2].startswith("random  ")


# Agents -----------------------------------------------------------------------------------------------------------


@dataclass
class Brave(fl.Agent):
    """An agent of one's own."""

    courage: float = 0.5
    mood: Annotated[int, fl.OneOf("calm", "wild")] = 0
    words: tuple[str, ...] = ()


class Plain(fl.Agent):
    """An agent without options."""


class Written(fl.Agent):
    """An agent with a text of its own."""

    def __repr__(self):
        return "mine"


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("epimc", "Epimc()"),
        ("epimc(subgame=steered)", "Epimc()"),
        ("epimc(subgame=cfr+,depth=3,time=0.5)", "Epimc(time=0.5,depth=3,subgame=cfr+)"),
        ("oos(target=public)", "Oos(target=public)"),
        ("human", "Human()"),
        ('policy(file="a b.npz")', 'Policy(file="a b.npz")'),
        (Brave(), "Brave()"),
        (Brave(0.75, 1, ("a", "b")), "Brave(courage=0.75,mood=wild,words=[a,b])"),
        (Plain(), "Plain()"),
        (Written(), "mine"),
    ],
)
def test_agents_show_the_options_that_differ(agent, line):
    assert repr(fl.load_agent(agent) if isinstance(agent, str) else agent) == line


def test_every_agent_with_its_defaults_has_no_options_to_show():
    agents = [fl.load_agent(name) for name in fl.agent_names()]
    assert len(agents) > 8 and all(repr(agent) == f"{type(agent).__name__}()" for agent in agents)
