"""Learn to balance a pole on a cart, by trying (DQN): python examples/dqn_cartpole.py

A pole stands on a cart; at each moment the cart is pushed to the left or to the right. It gets 1
for each moment the pole stands, and has to find out which push is good when. Q(s, a), what is
still to be had after push a in state s, obeys Bellman's equation

    Q(s, a) = r + 0.99 max Q(s', a')          (r alone where the pole falls)

and a network is trained until both sides agree on what was seen (Mnih et al. 2015, "Human-level
control through deep reinforcement learning"), the right side by a slower copy of it, which does not
run after its own changes; which a' is best is said by the network itself (van Hasselt et al. 2016).

A game is won after 500 moments. The result is the mean over 20 games that it had not seen: at least
475 counts as solved. It takes about half a minute, and draws how it went and one game as a film.
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path

import tutor
from tutor import Tensor, nn, no_grad, optim, training, viz
from tutor.viz import svg

LONGEST, ENOUGH = 500, 475
DISCOUNT, BATCH, MEMORY, SLOWLY = 0.99, 128, 20_000, 0.005


class CartPole:
    """The physics (Barto, Sutton & Anderson 1983): position and angle, and how fast they change."""

    gravity, cart, pole, length, force, tick = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def reset(self, rng: random.Random) -> list[float]:
        self.state = [rng.uniform(-0.05, 0.05) for _ in range(4)]
        self.age = 0
        return self.state

    def push(self, action: int) -> tuple[list[float], bool]:
        """One moment later: the state, and whether the pole fell or the cart left the track."""
        x, speed, angle, spin = self.state
        force = self.force if action else -self.force
        mass, sin, cos = self.cart + self.pole, math.sin(angle), math.cos(angle)
        pull = (force + self.pole * self.length * spin**2 * sin) / mass
        turn = (self.gravity * sin - cos * pull) / (
            self.length * (4 / 3 - self.pole * cos**2 / mass)
        )
        drive = pull - self.pole * self.length * turn * cos / mass
        t = self.tick
        self.state = [x + t * speed, speed + t * drive, angle + t * spin, spin + t * turn]
        self.age += 1
        return self.state, abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)


def network() -> nn.Sequential:
    """Four numbers in, Q of both pushes out."""
    return nn.Sequential(
        nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
    )


class Player:
    """The network, its slow copy, and what it remembers."""

    def __init__(self, seed: int) -> None:
        self.rng, self.seen = random.Random(seed), 0
        tutor.manual_seed(seed)
        self.q, self.slow = network(), network()
        nn.load_state_dict(self.slow, nn.state_dict(self.q))
        self.params, self.slow_params = nn.get_parameters(self.q), nn.get_parameters(self.slow)
        self.adam = optim.Adam(self.params, lr=5e-4)
        self.memory = [Tensor.zeros(MEMORY, n) for n in (4, 1, 4, 1)]  # state, push, next, fell
        self.best_push = tutor.jit(lambda state: self.q(state).argmax(-1))
        self.learn = tutor.jit(self.learn_from)

    def choose(self, state: list[float], daring: float = 0.0) -> int:
        if self.rng.random() < daring:
            return self.rng.randrange(2)
        with no_grad():
            return int(self.best_push(Tensor([state])).item())

    def remember(self, *parts: list[float]) -> None:
        place = self.seen % MEMORY
        for rows, part in zip(self.memory, parts, strict=True):
            rows[place] = part
        self.seen += 1

    def learn_from(self, rows: Tensor) -> Tensor:
        """One step on what is remembered in these rows."""
        state, push, after, fell = (m.index_select(0, rows) for m in self.memory)
        with no_grad():
            best = self.q(after).argmax(-1, keepdims=True)
            later = self.slow(after).gather(1, best)
            wanted = 1 + DISCOUNT * (1 - fell) * later
        found = self.q(state).gather(1, push.cast("int64"))
        loss = nn.functional.huber_loss(found, wanted)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        with no_grad():
            for p, slow in zip(self.params, self.slow_params, strict=True):
                slow += SLOWLY * (p.detach() - slow.detach())
        return loss

    def play(self, pole: CartPole, daring: float = 0.0, learning: bool = False) -> int:
        """One game: for how many moments the pole stood."""
        state, fell = pole.reset(self.rng), False
        while not fell and pole.age < LONGEST:
            push = self.choose(state, daring)
            after, fell = pole.push(push)
            if learning:
                self.remember(state, [push], after, [float(fell)])
                if self.seen > 8 * BATCH:
                    self.learn(tutor.randint(0, min(self.seen, MEMORY), (BATCH,)))
            state = after
        return pole.age


def picture(state: list[float], moment: int) -> viz.Picture:
    """The cart and its pole, two units of length to each side."""
    x, foot = 200 + 80 * state[0], 150
    top = (x + 110 * math.sin(state[2]), foot - 110 * math.cos(state[2]))
    body = svg.path(f"M20 {foot + 12}H380", "line", 2)
    body += svg.rect(x - 24, foot - 12, 48, 24, "blue", rx=4)
    body += svg.path(f"M{x:.1f} {foot - 8}L{top[0]:.1f} {top[1]:.1f}", "orange", 7)
    body += svg.text(20, 28, f"{moment * CartPole.tick:.1f} s", 13, "soft")
    return viz.Picture(body, 400, 190, "a pole that is balanced")


def film(player: Player) -> viz.Picture:
    """One game as it went, five pictures a second."""
    pole, frames = CartPole(), []
    state, fell = pole.reset(player.rng), False
    while not fell and pole.age < LONGEST:
        if pole.age % 10 == 0:
            frames.append(picture(state, pole.age))
        state, fell = pole.push(player.choose(state))
    return viz.film(frames, seconds=0.2, hold=1.0, title="one game")


def main() -> float:
    options = argparse.ArgumentParser(description="learn to balance a pole")
    options.add_argument("--rounds", type=int, default=80, help="of 10 games each, at most")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("runs/dqn_cartpole"))
    args = options.parse_args()
    player, pole = Player(args.seed), CartPole()

    def score(games: int) -> float:
        return sum(player.play(pole) for _ in range(games)) / games

    run, result = training.Run(args.rounds, log=args.out / "log.jsonl"), 0.0
    for number in run:
        daring = max(0.05, 0.5 * 0.85**number)
        for _ in run.batches(range(10)):
            run.note(trying=player.play(pole, daring, learning=True))
        run.note(playing=(tried := score(5)))
        if tried == LONGEST or number == args.rounds - 1:  # what do 20 other games say?
            result = score(20)
            if result >= ENOUGH:
                run.stop()
    film(player).save(args.out / "game.svg")
    if run.history:
        run.curves().save(args.out / "curves.svg")
    print(f"the pole stood for {result:.0f} of {LONGEST} moments, on average over 20 new games")
    print(f"wrote {args.out}/game.svg, curves.svg, log.jsonl")
    return result


if __name__ == "__main__":
    main()
