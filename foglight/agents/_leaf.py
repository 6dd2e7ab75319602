"""The option `leaf` of searching agents: how they value a world in which everything lies open."""

from dataclasses import dataclass
from typing import Annotated, Any

from foglight.compile import has_rule
from foglight.names import BadInput, Spec
from foglight.rules import Game
from foglight.search.leaves import minimax, own_evaluation, rollout

ENGINE = "engine"
_LEAVES = {"rollout": rollout, "evaluation": own_evaluation, "minimax": minimax}
AUTO = "auto"  # the game's own evaluation if it has one, else random playouts
_MEANING = "value of a leaf: one random playout, the game's own evaluation, alpha-beta to the end, or a network"


@dataclass(frozen=True)
class _Leaf:
    """The limits of the option: one of some words, or the file of a network."""

    words: tuple[str, ...] = tuple(_LEAVES)

    def __str__(self) -> str:
        return f"{', '.join(self.words)} or value(FILE)"

    def check(self, kind: type, value: Any) -> Any:
        if isinstance(value, str) and value in self.words:
            return value
        if isinstance(value, Spec) and value.name == "value" and len(value.arguments) == 1:
            return value
        raise BadInput(f"must be {self}, not {value}")


LeafOption = Annotated[Any, _MEANING, _Leaf()]
LeafOrEngine = Annotated[Any, f"{_MEANING}; engine: Stockfish, for chess", _Leaf((*_LEAVES, ENGINE))]

AutoLeafOption = Annotated[
    Any,
    "value of a leaf: the game's own evaluation, random playouts, alpha-beta to the end of the game, or a network; "
    "auto: evaluation if the game has one, else rollout; engine: Stockfish, for chess",
    _Leaf((AUTO, *_LEAVES, ENGINE)),
]


def leaf_for(game: Game, leaf: str | Spec) -> Any:
    """The leaf evaluator that the option stands for; an error if it does not fit this game."""
    if leaf == AUTO:
        leaf = "evaluation" if has_rule("evaluation", type(game)) else "rollout"
    if isinstance(leaf, Spec):
        from foglight.search.learned import learned

        return learned(game, str(leaf.arguments[0][1]))
    if leaf == ENGINE:
        from foglight.blind_chess.engine_values import EngineValues

        return EngineValues(game)
    return _LEAVES[leaf](game)
