"""What is measured, and how often: the full run, and the quick one that only shows it works."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AllPairs:
    """Flow of all layers and all pairs, with how many pairs a layer each kind of peer is given.

    networkx is 10 to 1,000 times slower than the other peers, hence fewer pairs, and none for
    edmonds_karp (0) where one pair of an upper layer takes it several seconds or more.
    """

    n_tokens: int
    n_layers: int
    pairs: int
    pairs_preflow_push: int
    pairs_edmonds_karp: int = 0
    rounds: int = 3
    calls: int = 6  # of attnflow, for each number of threads; at most one a layer

    @property
    def name(self) -> str:
        """The size in words."""
        return f"{self.n_tokens} tokens, {self.n_layers} layers"


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of all benchmarks."""

    real_attention: bool  # where the package with the model is installed
    all_pairs: tuple[AllPairs, ...]
    by_depth: int  # position in `all_pairs` of the graph whose depths are timed one by one
    n_tokens: int  # of the single query and of rollout
    n_layers: int
    rounds: int  # of everything but the pairs
    fresh_compile: bool  # whether the kernels are compiled once without any cache
    forward_pass: bool  # beside the single query; without it no model is measured at all
    attend_tokens: int
    edge_tokens: int  # of edge weights
    long_tokens: tuple[int, int]  # of segment rollout: compared with a plain pass, and the longest
    samples: int  # sentences of the paper's tables
    corpus_texts: tuple[int, ...]  # of evaluations over a corpus
    ray_texts: int


# Chosen so that the run takes about half an hour on two cores, most of it for the largest corpus,
# and standard errors stay within a tenth. 32 × 6, 128 × 12, and 512 × 12 for one query, are the
# sizes the project set its floors for.
FULL = Plan(
    real_attention=True,
    all_pairs=(
        AllPairs(32, 6, pairs=40, pairs_preflow_push=10, pairs_edmonds_karp=10),
        AllPairs(64, 12, pairs=20, pairs_preflow_push=3),
        AllPairs(128, 12, pairs=20, pairs_preflow_push=2),
        AllPairs(256, 6, pairs=10, pairs_preflow_push=2, rounds=2, calls=2),
    ),
    by_depth=2,
    n_tokens=512,
    n_layers=12,
    rounds=9,
    fresh_compile=True,
    forward_pass=True,
    attend_tokens=256,
    edge_tokens=128,
    long_tokens=(4096, 16384),
    samples=2000,
    corpus_texts=(1_000, 10_000, 100_000),
    ray_texts=10_000,
)

QUICK = Plan(
    real_attention=False,
    all_pairs=(AllPairs(8, 3, pairs=2, pairs_preflow_push=2, pairs_edmonds_karp=2, rounds=1),),
    by_depth=0,
    n_tokens=24,
    n_layers=3,
    rounds=1,
    fresh_compile=False,
    forward_pass=False,
    attend_tokens=16,
    edge_tokens=8,
    long_tokens=(64, 128),
    samples=5,
    corpus_texts=(4, 8),
    ray_texts=8,
)
