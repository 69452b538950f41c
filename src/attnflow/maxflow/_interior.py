"""A primal-dual interior-point method for one flow in a layered network.

It finds the flow f, 0 < f < u, that conserves and maximizes

    total − curvature / 2 · sum f² + mu · sum (log f + log(u − f)),

where an unbounded edge has no second logarithm. With p the potential of a node, one at the sources
and zero at the sinks, this is the f for which on every edge

    p above − p below  =  curvature · f − mu / f + mu / (u − f).

Steps are those of Mehrotra (1992, https://doi.org/10.1137/0802028). A step solves one linear
system with one unknown per node, whatever the number of edges.
"""

import itertools
from typing import NamedTuple

import numpy as np

from attnflow.maxflow._edges import Edges, Laplacian
from attnflow.maxflow._network import Floats

# All chosen. Attention of 12 layers and 128 tokens takes 20 to 70 steps, and weights of all sizes
# that float64 has, 120.
_MOST_STEPS = 300
# Steps end where flow and room are right to the first, relative to themselves, or with curvature
# the flow to the second, and nodes pass on what they get to the third.
_EXACT, _EXACT_FLOW, _CONSERVED = 1e-10, 1e-12, 1e-14
# A step goes so far to where the first variable would become zero.
_DAMPING = 0.995
# The grid of `_Potentials`, far above the rounding of float64 and far below the potentials.
_GRID = 2.0**-30


class Point(NamedTuple):
    """A flow, what is left of each capacity, and the difference of potentials of each edge."""

    flow: Floats
    room: Floats
    drops: Floats


class _Variables(NamedTuple):
    """Flow, room, and the multipliers of `flow >= 0` and `room >= 0`; all above zero.

    Room is stored, since `u − f` has no correct digits where an edge is nearly full. Room and its
    multiplier are one and zero for an unbounded edge.
    """

    flow: Floats
    room: Floats
    low: Floats
    high: Floats


class _Potentials:
    """Potentials in twice the precision of float64.

    Where a flow is between its bounds, the difference of potentials is as small as mu. It would
    be lost in the rounding of potentials near one, and with it the flow.
    """

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self._coarse = np.zeros(edges.nodes + 2)  # multiples of the grid
        self._fine = np.zeros(edges.nodes + 2)
        layers = len(edges.slices)
        for layer, (a, b) in enumerate(itertools.pairwise(edges.starts.tolist()), start=1):
            self._coarse[a:b] = np.round(layer / layers / _GRID) * _GRID
        self._coarse[edges.nodes] = 1.0

    def add(self, change: Floats) -> None:
        self._fine[: self._edges.nodes] += change
        coarse = np.round((self._coarse + self._fine) / _GRID) * _GRID
        self._fine += self._coarse - coarse  # exact
        self._coarse = coarse

    def drops(self) -> Floats:
        return self._edges.drops(self._coarse) + self._edges.drops(self._fine)


def solve_interior(edges: Edges, *, curvature: float, mu: float) -> Point:
    """Return the point that the module describes; the caller checks how good it is."""
    return _Solver(edges, curvature, mu).solve()


class _Solver:
    def __init__(self, edges: Edges, curvature: float, mu: float) -> None:
        self._edges, self._curvature, self._mu = edges, curvature, mu
        self._bounded = np.isfinite(edges.capacity)
        self._products = len(edges.capacity) + int(self._bounded.sum())
        flow = np.minimum(edges.capacity / 2, 0.5)
        room = np.where(self._bounded, edges.capacity - flow, 1.0)
        level = 0.1 * float(flow.max())
        self._now = _Variables(flow, room, level / flow, np.where(self._bounded, level / room, 0.0))
        self._potentials = _Potentials(edges)

    def solve(self) -> Point:
        for _ in range(_MOST_STEPS):
            level = self._level(self._now)
            # Where the products are nearly mu, plain Newton steps to mu converge quadratically.
            near = level <= 1.5 * self._mu
            if (near or self._curvature) and self._is_solution():
                break
            self._step(level, near=near)
        return Point(self._now.flow, self._now.room, self._potentials.drops())

    def _level(self, at: _Variables) -> float:
        """The mean product of a variable and its multiplier, which is mu at the solution."""
        return float(at.flow @ at.low + (at.room * self._bounded) @ at.high) / self._products

    def _is_solution(self) -> bool:
        flow, drops = self._now.flow, self._potentials.drops()
        if np.abs(self._edges.surplus(flow)).max(initial=0.0) > _CONSERVED:
            return False
        if self._curvature:  # and mu, which is next to nothing then
            best = np.clip(drops / self._curvature, 0.0, self._edges.capacity)
            return bool(np.abs(flow - best).max() <= _EXACT_FLOW)
        low, high = self._mu / flow, np.where(self._bounded, self._mu / self._now.room, 0.0)
        return bool((np.abs(drops + low - high) <= _EXACT * (low + high)).all())

    def _step(self, level: float, *, near: bool) -> None:
        now = self._now
        weights = 1.0 / (self._curvature + now.low / now.flow + now.high / now.room)
        laplacian = Laplacian(self._edges, weights)
        drops = self._potentials.drops()
        if near:
            potentials, change = self._direction(laplacian, weights, drops, self._mu)
        else:
            _, guess = self._direction(laplacian, weights, drops, 0.0)
            reached = self._level(_moved(now, guess, *_lengths(now, guess, 1.0)))
            target = max(level * (reached / level) ** 3, self._mu)
            potentials, change = self._direction(laplacian, weights, drops, target, guess)
        primal, dual = _lengths(now, change, _DAMPING)
        if self._curvature:  # then flow and multipliers are in one equation
            primal = dual = min(primal, dual)
        self._now = _moved(now, change, primal, dual)
        self._potentials.add(dual * potentials)

    def _direction(
        self,
        laplacian: Laplacian,
        weights: Floats,
        drops: Floats,
        target: float,
        guess: _Variables | None = None,
    ) -> tuple[Floats, _Variables]:
        """Return the change of potentials and variables that makes all products `target`.

        `guess` is a first direction, whose second-order terms are then taken into account.
        """
        now, bounded = self._now, self._bounded
        low_product = high_product = target
        if guess is not None:
            low_product = target - guess.flow * guess.low
            high_product = target - guess.room * guess.high
        low, high = low_product / now.flow, np.where(bounded, high_product / now.room, 0.0)
        pull = drops - self._curvature * now.flow + low - high
        change = laplacian.solve(self._edges.surplus(now.flow + weights * pull))
        padded = np.concatenate([change, [0.0, 0.0]])
        flow = weights * (pull + self._edges.drops(padded))
        return change, _Variables(
            flow=flow,
            room=np.where(bounded, -flow, 0.0),
            low=low - now.low - now.low / now.flow * flow,
            high=np.where(bounded, high - now.high + now.high / now.room * flow, 0.0),
        )


def _lengths(now: _Variables, change: _Variables, damping: float) -> tuple[float, float]:
    """Return how far flow and room, and the multipliers, can go without becoming negative."""
    flow, room, low, high = map(_longest, now, change)
    return min(1.0, damping * min(flow, room)), min(1.0, damping * min(low, high))


def _longest(values: Floats, change: Floats) -> float:
    falling = change < 0
    return float((values[falling] / -change[falling]).min(initial=np.inf))


def _moved(now: _Variables, change: _Variables, primal: float, dual: float) -> _Variables:
    return _Variables(
        now.flow + primal * change.flow,
        now.room + primal * change.room,
        now.low + dual * change.low,
        now.high + dual * change.high,
    )
