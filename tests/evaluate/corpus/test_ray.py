"""The Ray engine, on a cluster of two nodes on this machine: the bytes of a local run."""

import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import stand_in
from stand_in import Deadly, Different, Failing, StandIn, contents, run_stand_in, write_texts

from attnflow import paper
from attnflow.errors import InputError
from attnflow.evaluate import EvaluationPlan, RunResult, run
from attnflow.evaluate.corpus import _ray
from attnflow.evaluate.corpus._ray import ray_engine
from waiting import until

ray: Any = pytest.importorskip("ray", reason="ray is not installed")
# Ray leaves sockets and processes to the garbage collector.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]
N_PARTS = 6
_LIMIT = 600  # seconds of a test. Chosen: far longer than any takes, and shorter than for ever


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    """A test that hangs fails."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"the test took more than {_LIMIT} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    _ = signal.alarm(_LIMIT)
    yield
    _ = signal.alarm(0)
    _ = signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes with one CPU each."""
    from ray.cluster_utils import Cluster

    # Ray gives way to other programs, which on a busy machine means that tests hardly run.
    settings = {"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    ray.cloudpickle.register_pickle_by_value(stand_in)
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    found.add_node(num_cpus=1)
    yield found
    found.shutdown()
    ray.cloudpickle.unregister_pickle_by_value(stand_in)
    for name, value in before.items():
        _ = os.environ.pop(name)
        if value is not None:
            os.environ[name] = value


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts.txt")


@pytest.fixture
def local(data: Path, tmp_path: Path) -> dict[str, bytes]:
    """The files of a local run."""
    return contents(run_stand_in(data, tmp_path / "local").folder)


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    """The folder in which workers leave the ids of their processes."""
    folder = tmp_path / "pids"
    folder.mkdir()
    return folder


def _run(
    data: Path,
    out: Path,
    address: str | None,
    worker: Any = None,
    workers: int | None = None,
) -> RunResult:
    settings: Any = {"address": address, "workers": workers, "gpus": 0.0}
    return run_stand_in(data, out, using=ray_engine(cast("Any", worker or StandIn()), **settings))


def _found(pids: Path) -> list[int]:
    return [int(path.name) for path in pids.iterdir() if path.name != "go"]


def _when_two_work(pids: Path, action: Callable[[], None]) -> threading.Thread:
    """Do something while two workers measure a part, and let them finish after it."""

    def wait_and_act() -> None:
        until(lambda: len(_found(pids)) == 2, what="two workers")
        action()
        (pids / "go").touch()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def test_a_run_on_ray_has_the_bytes_of_a_local_one(
    data: Path, local: dict[str, bytes], cluster: Any, tmp_path: Path
) -> None:
    done = _run(data, tmp_path / "run", cluster.address)
    assert (done.parts, done.resumed) == (N_PARTS, 0)
    assert contents(tmp_path / "run") == local
    assert not ray.is_initialized()


def test_a_run_that_began_locally_is_resumed_on_ray(
    data: Path, local: dict[str, bytes], cluster: Any, tmp_path: Path
) -> None:
    out = run_stand_in(data, tmp_path / "run").folder
    for file in sorted((out / "results").iterdir())[1::2]:
        file.unlink()
    assert _run(data, out, cluster.address).resumed == N_PARTS // 2
    assert contents(out) == local


def test_the_parts_of_a_worker_that_is_killed_are_measured_again(
    data: Path, local: dict[str, bytes], cluster: Any, tmp_path: Path, pids: Path
) -> None:
    thread = _when_two_work(pids, lambda: os.kill(_found(pids)[0], signal.SIGKILL))
    done = _run(data, tmp_path / "run", cluster.address, StandIn(folder=pids))
    thread.join()
    assert done.parts == N_PARTS
    assert contents(tmp_path / "run") == local


def test_the_parts_of_a_node_that_is_lost_are_measured_elsewhere(
    data: Path, local: dict[str, bytes], cluster: Any, tmp_path: Path, pids: Path
) -> None:
    second = next(iter(cluster.worker_nodes))
    # There is no place for another worker then: the first measures all parts.
    thread = _when_two_work(pids, lambda: cluster.remove_node(second, allow_graceful=False))
    try:
        done = _run(data, tmp_path / "run", cluster.address, StandIn(folder=pids))
    finally:
        thread.join()
        _ = cluster.add_node(num_cpus=1)
    assert done.parts == N_PARTS
    assert contents(tmp_path / "run") == local


def test_texts_that_kill_every_worker_are_named(data: Path, cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="4 workers of Ray died with texts 12 to 15"):
        _ = _run(data, tmp_path / "run", cluster.address, Deadly(), workers=1)
    assert 0 < len(list((tmp_path / "run" / "results").iterdir())) < N_PARTS


def test_workers_with_other_models_are_an_error(
    data: Path, cluster: Any, tmp_path: Path, pids: Path
) -> None:
    # The first waits in its part, so that the second has time to start.
    with pytest.raises(InputError, match="the workers of Ray differ"):
        _ = _run(data, tmp_path / "run", cluster.address, Different(folder=pids))


def test_an_error_of_a_worker_is_the_error_of_the_run(
    data: Path, cluster: Any, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"^there is no folder 'model'$"):
        _ = _run(data, tmp_path / "run", cluster.address, Failing())
    assert not ray.is_initialized()


def test_more_workers_than_cpus_are_an_error(data: Path, cluster: Any, tmp_path: Path) -> None:
    # Ray still counts, for a while, the CPU of a node that another test has killed.
    message = r"the Ray cluster has ([23]) CPUs, enough for \1 workers with 1 each .* got 9"
    with pytest.raises(InputError, match=message):
        _ = _run(data, tmp_path / "run", cluster.address, workers=9)


def test_a_process_that_is_connected_stays_connected(
    data: Path, local: dict[str, bytes], cluster: Any, tmp_path: Path
) -> None:
    _ = ray.init(cluster.address, log_to_driver=False)
    try:
        with pytest.raises(InputError, match="address must be left out where this process is"):
            _ = _run(data, tmp_path / "run", cluster.address)
        _ = _run(data, tmp_path / "run", None)
        assert ray.is_initialized()
    finally:
        ray.shutdown()
    assert contents(tmp_path / "run") == local


def test_a_model_on_ray_has_the_bytes_of_a_local_run(cluster: Any, tmp_path: Path) -> None:
    data = tmp_path / "texts.txt"
    texts = [prefix.text for prefix in paper.generate(9, seed=1)]
    _ = data.write_text("\n".join(texts), encoding="utf-8")
    settings: dict[str, Any] = {
        "plan": EvaluationPlan(layers=(1, 6)), "part_size": 4, "threads": 1,
    }  # fmt: skip
    _ = run(paper.load, data, tmp_path / "local", **settings)
    address = cluster.address
    _ = run(paper.load, data, tmp_path / "ray", **settings, engine="ray", address=address)
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nonsense", "expected HOST:PORT of a Ray cluster, got 'nonsense'"),
        ("host:port", "expected HOST:PORT"),
        ("127.0.0.1:9", "no Ray cluster can be reached at 127.0.0.1:9: .* Check the address"),
        ("ray://127.0.0.1:9", "no Ray cluster can be reached at ray://127.0.0.1:9"),
    ],
)
def test_an_unreachable_address_is_an_error_in_seconds(
    data: Path, tmp_path: Path, address: str, message: str
) -> None:
    start = time.monotonic()
    with pytest.raises(InputError, match=message):
        _ = _run(data, tmp_path / "run", address)
    assert time.monotonic() - start < 60  # Ray itself tries for five minutes
    assert not (tmp_path / "run").exists()


def test_a_port_that_is_not_of_a_cluster_is_an_error(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ray, "_ANSWER", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InputError, match="answers, but not as a Ray cluster"):
            _ = _run(data, tmp_path / "run", address)


def test_a_health_check_that_fails_is_an_error(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A program that fails at once stands in for the check of a server that hangs up.
    monkeypatch.setattr(_ray.sys, "executable", shutil.which("false"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InputError, match="answers, but not as a Ray cluster"):
            _ = _run(data, tmp_path / "run", address)


@pytest.mark.parametrize(
    ("gpus", "workers", "message"),
    [
        (1.0, None, "the Ray cluster has 0 GPUs, got 1 workers with 1 each"),
        (0.5, 2, "the Ray cluster has 0 GPUs, got 2 workers with 0.5 each"),
        (-1.0, None, r"gpus must be a number in \[0, inf\), got -1.0"),
    ],
)
def test_gpus_that_the_cluster_does_not_have_are_an_error(
    monkeypatch: pytest.MonkeyPatch, gpus: float, workers: int | None, message: str
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 4.0})
    engine = ray_engine(cast("Any", StandIn()), address=None, workers=workers, gpus=gpus)
    with pytest.raises(InputError, match=message), engine:
        pass


def test_there_are_as_many_workers_as_cpus_and_gpus_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 4.0, "GPU": 1.0})
    for gpus, count in ((0.0, 4), (0.25, 4), (0.5, 2), (1.0, 1)):
        with ray_engine(cast("Any", StandIn()), address=None, workers=None, gpus=gpus) as engine:
            assert cast("Any", engine).count == count
