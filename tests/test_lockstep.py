"""Our games move in lock step with OpenSpiel's; chess and cards have files of their own.

Where OpenSpiel's information-state string forgets, what a player has been shown is the chain of such strings. Dark Hex
is such a game: the string holds the number of tries so far but not when they were made, so that a player who has
watched the number grow knows more than the string says.
"""

import pyspiel
import pytest
from lockstep import check_lockstep, play_both


def turn_based_goofspiel(cards, order, imperfect):
    return (
        "turn_based_simultaneous_game(game=goofspiel("
        f"num_cards={cards},points_order={order},imp_info={imperfect},returns_type=win_loss))"
    )


@pytest.mark.parametrize(
    ("ours_name", "theirs_name"),
    [
        ("phantom_ttt", "phantom_ttt"),
        ("phantom_ttt(abrupt=yes)", "phantom_ttt(gameversion=abrupt)"),
        ("kuhn_poker", "kuhn_poker"),
        ("leduc_poker", "leduc_poker"),
        ("goofspiel(cards=4)", turn_based_goofspiel(4, "descending", True)),
        ("goofspiel(cards=5)", turn_based_goofspiel(5, "descending", True)),
        ("goofspiel(cards=5,order=ascending)", turn_based_goofspiel(5, "ascending", True)),
        ("goofspiel(cards=5,order=random)", turn_based_goofspiel(5, "random", True)),
    ],
)
def test_rules_and_information_states_are_openspiels(ours_name, theirs_name):
    check_lockstep(ours_name, theirs_name)


@pytest.mark.parametrize(
    ("width", "height", "ships", "shots", "repeats", "games"),
    [
        (3, 3, [1, 2], 9, "allowed", 500),
        (3, 3, [1, 2], 9, "forbidden", 500),
        (4, 3, [2, 3, 2], 12, "allowed", 500),
        (2, 3, [1, 2, 2], 6, "forbidden", 500),  # so tight that many a placement leaves no room for the next ship
        (2, 2, [2, 2], 5, "allowed", 500),
        (8, 8, [3, 4, 5], 64, "forbidden", 60),
        pytest.param(8, 8, [2, 3, 4, 5], 64, "forbidden", 500, marks=pytest.mark.long),
    ],
)
def test_battleship_is_openspiels(width, height, ships, shots, repeats, games):
    sizes, values = ";".join(map(str, ships)), ";".join("1" for _ in ships)
    fleet = ",".join(map(str, ships))
    check_lockstep(
        f"battleship(width={width},height={height},ships=[{fleet}],shots={shots},repeats={repeats})",
        f"battleship(board_width={width},board_height={height},ship_sizes=[{sizes}],ship_values=[{values}],"
        f"num_shots={shots},allow_repeated_shots={repeats == 'allowed'},loss_multiplier=1.0)",
        games,
        again=min(300, games),
    )


@pytest.mark.parametrize(("dice", "sides"), [(1, 6), (1, 4), (2, 3), (2, 6), (5, 6)])
def test_liars_dice_is_openspiels(dice, sides):
    # while dice roll, OpenSpiel shows one's own in the order rolled, and forgets that order when all are rolled
    check_lockstep(
        f"liars_dice(dice={dice},sides={sides})", f"liars_dice(numdice={dice},dice_sides={sides})", at_chance=False
    )


small = pytest.mark.parametrize(("rows", "cols"), [(3, 3), (4, 4), (3, 5)])
forms = pytest.mark.parametrize(("abrupt", "version"), [("no", "cdh"), ("yes", "adh")])


@pytest.mark.parametrize(("rows", "cols"), [(3, 3), (4, 4), (3, 5), (8, 8)])
@forms
def test_dark_hex_shows_what_openspiels_has_shown(rows, cols, abrupt, version):
    ours, theirs = f"rows={rows},cols={cols},abrupt={abrupt}", f"num_rows={rows},num_cols={cols},gameversion={version}"
    check_lockstep(f"dark_hex({ours})", f"dark_hex({theirs})", chain=True)


@small
@forms
def test_hearing_tries_in_dark_hex_is_openspiels_revealed_number_of_turns(rows, cols, abrupt, version):
    # this string of OpenSpiel's has a mark for each of the other's tries, between one's own, and forgets nothing
    ours, theirs = f"rows={rows},cols={cols},abrupt={abrupt}", f"num_rows={rows},num_cols={cols},gameversion={version}"
    check_lockstep(f"dark_hex({ours},tries=heard)", f"dark_hex({theirs},obstype=reveal-numturns)")


def without_length(state, seat):
    """OpenSpiel's information state in Dark Hex without the number of tries so far, the first line after the board."""
    lines = state.information_state_string(seat).split("\n")
    assert lines[-2] == str(len(state.history()))
    return "\n".join([*lines[:-2], lines[-1]])


@small
@forms
def test_silent_dark_hex_is_openspiels_without_the_number_of_tries(rows, cols, abrupt, version):
    ours, theirs = f"rows={rows},cols={cols},abrupt={abrupt}", f"num_rows={rows},num_cols={cols},gameversion={version}"
    check_lockstep(f"dark_hex({ours},tries=silent)", f"dark_hex({theirs})", text=without_length)


def test_openspiels_dark_hex_string_forgets_when_tries_were_made():
    def watched_by_o(*actions):
        state, shown = pyspiel.load_game("dark_hex(num_rows=3,num_cols=3)").new_initial_state(), []
        for action in actions:
            state.apply_action(action)
            shown.append(state.information_state_string(1))
        return shown

    # o places 1 and then 5 both times; x runs into 1 before o places 5 (two tries heard), or only after it (one heard)
    early = watched_by_o(0, 1, 1, 2, 5)
    late = watched_by_o(0, 1, 2, 5, 1)
    assert early[-1] == late[-1]
    assert early[2:4] != late[2:4]


def test_perfect_information_goofspiel_recalls_at_least_what_openspiels_does():
    # with perfect information OpenSpiel's string forgets which bid met which; ours recalls it, so only one way holds
    known = [{}, {}]

    def meet(ours, shown):
        for seat in range(2):
            now = shown[seat].now
            assert known[seat].setdefault(tuple(ours.observations(seat)), now) == now

    play_both("goofspiel(cards=4,information=perfect)", turn_based_goofspiel(4, "descending", False), 500, meet)
