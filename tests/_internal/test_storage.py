import io
import json
import os
import pickle
import subprocess
import sys
import traceback
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import attnflow as af
from attnflow._internal import checks, storage
from attnflow._internal.html_table import html_table
from attnflow._internal.settings import freeze_settings, thaw_settings

SUFFIXES = [".npz", ".safetensors"]


def attention(n: int = 4, dtype: Any = np.float32) -> af.Attention:
    weights = np.random.default_rng(0).random((2, 3, n, n)) + 0.1
    weights /= weights.sum(-1, keepdims=True)
    return af.Attention(weights.astype(dtype), ["[CLS]", "naïve", "</s>", ""][:n])


# ---- in memory ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (">f4", np.float32),
        (np.float16, np.float32),
        (ml_dtypes.bfloat16, np.float32),
        (np.longdouble, np.float64),
        (np.int64, np.float64),
        (np.bool, np.float64),
    ],
)
def test_number_types_are_kept_or_widened(given: Any, kept: Any):
    array = checks.as_floats(np.array([1, 0], dtype=given), "weights")
    assert array.dtype == kept
    assert array.dtype.isnative
    assert array.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_with_gradients_are_read(dtype: torch.dtype):
    tensor = torch.tensor([0.25, 0.75], dtype=dtype, requires_grad=True)
    array = checks.as_floats(tensor, "weights")
    assert array.dtype == (np.float64 if dtype == torch.float64 else np.float32)
    assert array.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1.0], [1.0, 2.0]], r"weights: expected an array of numbers, got list"),
        (["a"], r"weights: expected numbers, got values of type str"),
        ([1j], r"weights: expected numbers, got values of type complex128"),
        (object(), r"weights: expected numbers, got values of type object"),
        (torch.zeros(2, device="meta"), r"weights: expected an array of numbers, got Tensor"),
    ],
)
def test_what_is_not_numbers_is_refused(value: object, message: str):
    with pytest.raises(af.InputError, match=message):
        _ = checks.as_floats(value, "weights")


def test_writable_arrays_are_copied_and_read_only_ones_kept():
    array = np.zeros(3)
    kept = checks.as_read_only(array)
    array[0] = 1.0
    assert kept[0] == 0.0
    assert checks.as_read_only(kept) is kept
    view = kept[1:]
    assert checks.as_read_only(view).base is None


@pytest.mark.parametrize("tokens", ["ab", b"ab", 3])
def test_tokens_that_are_no_list_are_refused(tokens: Any):
    with pytest.raises(af.InputError, match="tokens must be a list of 2 strings, got"):
        _ = checks.as_tokens(tokens, 2)


def test_token_ids_are_refused():
    ids: Any = [101, 102]
    with pytest.raises(
        af.InputError, match=r"tokens must be strings, got 101 \(int\) at position 0"
    ):
        _ = checks.as_tokens(ids, 2)


def test_numpy_strings_become_plain_ones():
    names = checks.as_tokens(np.array(["a", "b"]), 2)
    assert [type(name) for name in names] == [str, str]


@pytest.mark.parametrize("value", [1.0, "1", [True], [0.5], None, [[1]]])
def test_values_that_are_not_integers_are_refused(value: Any):
    with pytest.raises(af.InputError, match=r"queries must be integers, got .*"):
        _ = checks.as_ints(value, "queries")


def test_settings_are_a_read_only_copy():
    mine: dict[str, Any] = {"layers": [1, 2], "more": {"onto": 0}}
    kept: Any = freeze_settings(mine)
    mine["layers"].append(3)
    mine["more"]["onto"] = 1
    assert kept["layers"] == (1, 2)
    assert kept["more"]["onto"] == 0
    with pytest.raises(TypeError):
        kept["layers"] = ()
    assert thaw_settings(kept) == {"layers": [1, 2], "more": {"onto": 0}}


@pytest.mark.parametrize("settings", [{"a": object()}, {"a": float("nan")}, {"a": np.zeros(2)}])
def test_settings_that_json_cannot_hold_are_refused(settings: Any):
    with pytest.raises(af.InputError, match="cannot be written as JSON"):
        _ = freeze_settings(settings)


def test_settings_that_are_no_mapping_are_refused():
    settings: Any = [1]
    with pytest.raises(af.InputError, match="must map names to values"):
        _ = freeze_settings(settings)


def test_html_is_escaped():
    html = html_table("<script>", ["<s>"], [["<b>", "<i>"]])
    assert "&lt;script&gt;" in html
    assert not {"<script>", "<s>", "<b>", "<i>"} & set(html.replace("><", ">\n<").split())


# ---- on disk --------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_file_gives_back_what_was_saved(tmp_path: Path, suffix: str, dtype: Any):
    a = attention(dtype=dtype)
    path = tmp_path / f"a{suffix}"
    a.save(path)
    b = af.Attention.load(str(path))
    assert b == a
    assert b.weights.dtype == dtype
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_arrays_that_lie_in_another_order_are_written_right(tmp_path: Path):
    array = np.arange(6.0).reshape(2, 3).T
    storage.write(tmp_path / "a.safetensors", {"x": array, "flag": np.array(1)})
    back = storage.read(tmp_path / "a.safetensors", required=("x", "flag"))
    assert np.array_equal(np.asarray(back["x"]), array)
    assert np.shape(back["flag"]) == ()


def test_a_foreign_npz_needs_only_weights(tmp_path: Path):
    a = attention()
    np.savez(tmp_path / "a.npz", weights=a.weights, other=np.array([1, 2]))
    b = af.Attention.load(tmp_path / "a.npz")
    assert b.tokens == ("0", "1", "2", "3")
    assert not b.causal


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_without_the_required_arrays_raises_an_error_with_its_content(
    tmp_path: Path, suffix: str
):
    path = tmp_path / f"a{suffix}"
    attention().save(path)
    with pytest.raises(af.InputError, match=r"expected scores,.*, got causal, tokens, weights"):
        _ = af.TokenAttention.load(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_scores_and_graphs_are_distinguished_from_attention(tmp_path: Path, suffix: str):
    path = tmp_path / f"a{suffix}"
    af.raw(attention()).save(path)
    with pytest.raises(af.InputError, match=r"file of TokenAttention: TokenAttention\.load"):
        _ = af.Attention.load(path)
    attention().graph().save(path)
    with pytest.raises(af.InputError, match=r"file of AttentionGraph: AttentionGraph\.load"):
        _ = af.Attention.load(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_refused(tmp_path: Path, suffix: str, share: float):
    path = tmp_path / f"a{suffix}"
    attention().save(path)
    whole = path.read_bytes()
    _ = path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(af.InputError, match=rf"a{suffix} is not a readable {suffix} file"):
        _ = af.Attention.load(path)


def test_a_damaged_npz_is_refused(tmp_path: Path):
    path = tmp_path / "a.npz"
    attention().save(path)
    content = bytearray(path.read_bytes())
    content[200] ^= 0xFF
    _ = path.write_bytes(bytes(content))
    with pytest.raises(af.InputError, match=r"a\.npz is not a readable \.npz file"):
        _ = af.Attention.load(path)


def _assert_no_advice_to_unpickle(error: pytest.ExceptionInfo[af.InputError]) -> None:
    """NumPy tells how to load a pickle; neither the message nor the traceback may pass it on."""
    shown = "".join(traceback.format_exception(error.value, limit=0))
    assert "allow_pickle" not in shown
    assert "unsafe" not in shown


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", [b"hello, world\n", b"PK\x03\x04" + bytes(60), bytes(100)])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, suffix: str, content: bytes):
    path = tmp_path / f"a{suffix}"
    _ = path.write_bytes(content)
    with pytest.raises(af.InputError, match="may be cut off or of another kind") as error:
        _ = af.Attention.load(path)
    _assert_no_advice_to_unpickle(error)


def test_a_pickle_is_refused(tmp_path: Path):
    path = tmp_path / "a.npz"
    _ = path.write_bytes(pickle.dumps({"weights": 1}))
    with pytest.raises(
        af.InputError, match=r"not a complete zip archive.*without pickled"
    ) as error:
        _ = af.Attention.load(path)
    _assert_no_advice_to_unpickle(error)


def test_a_pickled_array_in_an_npz_is_refused(tmp_path: Path):
    path = tmp_path / "a.npz"
    np.savez(path, weights=attention().weights, tokens=np.array(["a", None, "b", "c"], object))
    with pytest.raises(af.InputError, match=r"tokens holds Python obj.*without pickled") as error:
        _ = af.Attention.load(path)
    _assert_no_advice_to_unpickle(error)


def test_a_single_array_under_the_name_npz_is_refused(tmp_path: Path):
    path = tmp_path / "a.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(af.InputError, match="one array without a name"):
        _ = af.Attention.load(path)


def test_a_zip_of_other_files_is_refused(tmp_path: Path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights", "not an array")
    with pytest.raises(af.InputError, match="holds weights, but not as an array"):
        _ = af.Attention.load(path)


def test_bfloat16_in_safetensors_is_read_where_numpy_knows_it(tmp_path: Path):
    from safetensors.torch import save_file

    path = tmp_path / "a.safetensors"
    save_file({"weights": torch.ones(1, 1, 1, 1, dtype=torch.bfloat16)}, path)
    # ml_dtypes, imported above, taught it to NumPy.
    assert af.Attention.load(path) == af.Attention(np.ones((1, 1, 1, 1)))
    # Without it the file is refused, and the message names the type.
    run = f"import attnflow; attnflow.Attention.load({str(path)!r})"
    ended = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert "InputError" in ended.stderr
    assert "bfloat16" in ended.stderr
    assert "Save them as float32" in ended.stderr


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_file_is_an_input_error(tmp_path: Path, suffix: str):
    with pytest.raises(af.InputError, match="does not exist; check the path"):
        _ = af.Attention.load(tmp_path / f"none{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_under_the_name_of_a_file_is_refused(tmp_path: Path, suffix: str):
    (tmp_path / f"a{suffix}").mkdir()
    with pytest.raises(af.InputError, match=rf"a{suffix}: expected a regular file, got a folder$"):
        _ = af.Attention.load(tmp_path / f"a{suffix}")
    with pytest.raises(af.InputError, match=rf"a{suffix} is a folder\. Choose another name$"):
        attention().save(tmp_path / f"a{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_folder_is_an_input_error(tmp_path: Path, suffix: str):
    with pytest.raises(af.InputError, match="Choose a folder that exists"):
        attention().save(tmp_path / "none" / f"a{suffix}")


@pytest.mark.parametrize("name", ["a.pkl", "a", "a.npy", "a.npz.gz"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str):
    with pytest.raises(af.InputError, match=r"ends in \.npz or \.safetensors"):
        attention().save(tmp_path / name)
    with pytest.raises(af.InputError, match=r"ends in \.npz or \.safetensors"):
        _ = af.Attention.load(tmp_path / name)


def test_bad_contents_are_an_error_that_names_the_file(tmp_path: Path):
    path = tmp_path / "a.npz"
    np.savez(path, weights=np.full((1, 1, 2, 2), np.nan))
    with pytest.raises(af.InputError, match=r"a\.npz: layer 1"):
        _ = af.Attention.load(path)
    np.savez(path, weights=attention().weights, causal=np.array("yes"))
    with pytest.raises(af.InputError, match=r"a\.npz: causal must be a bool, got 'yes'"):
        _ = af.Attention.load(path)


def test_tokens_that_npz_would_change_are_refused_and_kept_by_safetensors(tmp_path: Path):
    a = af.Attention(np.ones((1, 1, 1, 1)), ["a\0"])
    with pytest.raises(af.InputError, match="ends in NUL"):
        a.save(tmp_path / "a.npz")
    a.save(tmp_path / "a.safetensors")
    assert af.Attention.load(tmp_path / "a.safetensors") == a


def test_without_safetensors_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(af.MissingDependencyError, match=r'pip install "safetensors>='):
        attention().save(tmp_path / "a.safetensors")
    with pytest.raises(af.MissingDependencyError):
        storage.check_packages("a.safetensors")
    storage.check_packages("a.npz")


def test_settings_in_a_file_are_json(tmp_path: Path):
    t = af.rollout(attention())
    t.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz", allow_pickle=False) as file:
        assert json.loads(str(file["settings"]))["residual"] == 0.5
        assert file["tokens"].tolist() == list(t.tokens)


# ---- files made to do harm ------------------------------------------------------------------


def _npz(path: Path, **members: bytes) -> Path:
    """Write a compressed archive; the members are the bytes of .npy files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def _header(shape: tuple[int, ...], dtype: str) -> bytes:
    file = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_link_to_a_device_is_refused(tmp_path: Path, suffix: str):
    path = tmp_path / f"a{suffix}"
    path.symlink_to("/dev/zero")
    with pytest.raises(af.InputError, match=r"expected a regular file, got a device$"):
        _ = af.Attention.load(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, suffix: str):
    path = tmp_path / f"a{suffix}"
    os.mkfifo(path)
    with pytest.raises(af.InputError, match=r"expected a regular file, got a pipe$"):
        _ = af.Attention.load(path)


@pytest.mark.parametrize(("shape", "dtype"), [((2**27 + 1,), "|u1"), ((2**24,), "<U1")])
def test_more_memory_than_the_limit_is_refused_before_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], dtype: str
):
    # Less than 1 MB on disk. Integers become float64, and strings Python's.
    content = _header(shape, dtype) + bytes(shape[0] * np.dtype(dtype).itemsize)
    path = _npz(tmp_path / "bomb.npz", weights=content)
    assert path.stat().st_size < 2**20
    del content

    def forbidden(*_: object, **__: object) -> None:
        pytest.fail("the array was read")

    monkeypatch.setattr(np.lib.format, "read_array", forbidden)
    with pytest.raises(af.InputError, match=r"at most 1073741824 bytes.*set ATTNFLOW_MAX_BYTES="):
        _ = af.Attention.load(path)


def test_members_count_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    array = np.ones((1, 1, 1, 1), np.float32)
    path = tmp_path / "a.npz"
    np.savez(path, weights=array, causal=np.array(False), tokens=np.array(["a"]))
    monkeypatch.setenv("ATTNFLOW_MAX_BYTES", "95")
    with pytest.raises(af.InputError, match="expected at most 95 bytes of arrays, got 96"):
        _ = af.Attention.load(path)
    monkeypatch.setenv("ATTNFLOW_MAX_BYTES", "96")
    assert af.Attention.load(path).tokens == ("a",)


def test_the_limit_holds_for_safetensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.safetensors"
    attention().save(path)
    monkeypatch.setenv("ATTNFLOW_MAX_BYTES", "100")
    with pytest.raises(af.InputError, match="expected at most 100 bytes of arrays, got "):
        _ = af.Attention.load(path)


@pytest.mark.parametrize("limit", ["", "1 GB", "-1", "1e9"])
def test_a_limit_that_is_no_number_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
):
    attention().save(tmp_path / "a.npz")
    monkeypatch.setenv("ATTNFLOW_MAX_BYTES", limit)
    with pytest.raises(af.InputError, match="ATTNFLOW_MAX_BYTES must be a number of bytes"):
        _ = af.Attention.load(tmp_path / "a.npz")


def test_a_file_may_hold_as_much_as_it_has_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(storage, "_MAX_BYTES", 1)
    attention(dtype=np.float64).save(tmp_path / "a.npz")
    assert af.Attention.load(tmp_path / "a.npz").n_tokens == 4


@pytest.mark.parametrize(
    "content",
    [
        _header((10**12, 10**12), "<f4") + bytes(16),
        _header((5,), "<f4") + bytes(16),
        _header((10**12,), "|V0"),
        _header((-2, -2), "<f4") + bytes(16),
        b"\x93NUMPY\x03\x00" + _header((4,), "<f4")[8:] + bytes(16),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, content: bytes):
    path = _npz(tmp_path / "a.npz", weights=content)
    with pytest.raises(af.InputError, match=r"a\.npz is not a readable \.npz file"):
        _ = af.Attention.load(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("text", ["[" * 100_000, '{"generated": ' + "9" * 5000 + "}", "[" * 900])
@pytest.mark.parametrize("name", ["origin", "settings"])
def test_json_made_to_do_harm_is_refused(tmp_path: Path, suffix: str, text: str, name: str):
    path = tmp_path / f"a{suffix}"
    result = af.raw(attention())
    result.save(path)
    record = storage.read(path, required=("scores",), optional=("*",))
    storage.write(path, {**record, name: text})
    with pytest.raises(af.InputError, match=rf"a{suffix}: ") as error:
        _ = af.TokenAttention.load(path)
    assert len(str(error.value)) < 1000
    assert "sys." not in str(error.value)


def test_deep_settings_are_refused():
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(af.InputError, match="cannot be written as JSON"):
        _ = freeze_settings({"a": deep})


@pytest.mark.parametrize("name", ["a\0.npz", "a\ud800.npz", b"a.npz", 3, None])
def test_a_name_that_no_file_can_have_is_refused(name: Any):
    with pytest.raises(af.InputError, match="expected the name of a file, got"):
        attention().save(name)
    with pytest.raises(af.InputError, match="expected the name of a file, got"):
        _ = af.Attention.load(name)
