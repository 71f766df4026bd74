"""What a result says, and its file."""

import json

import numpy as np
import pytest
from scipy import stats

from heft import identify
from heft.identify import Dataset, Result
from heft.identify.errors import ParameterError, ResultError
from heft.identify.result import RelativeError


def test_parameters_by_link_and_joint(bench, result) -> None:
    link = result.parameters["link2"]
    ten = bench.truth[10:20]
    assert link.mass == pytest.approx(ten[0], rel=0.2)
    np.testing.assert_allclose(link.com * link.mass, link.ten[1:4])
    assert link.inertia[0, 1] == link.ten[5]
    np.testing.assert_allclose(link.principal_moments, np.linalg.eigvalsh(link.inertia_com))
    assert [one.name for one in result.parameters.links] == ["link1", "link2", "link3"]
    assert result.parameters["joint3"].viscous == pytest.approx(0.8, abs=0.02)
    assert result.parameters["joint3.viscous"] == result.parameters["joint3"].viscous
    assert result.total_mass == pytest.approx(sum(one.mass for one in result.parameters.links))


def test_asking_for_what_is_not_there(result) -> None:
    with pytest.raises(ParameterError, match="no 'link9'; there are link1, link2"):
        result.parameters["link9"]
    with pytest.raises(AttributeError, match="joint1 has no term 'stribeck'; it has drive_inertia"):
        _ = result.parameters["joint1"].stribeck


def test_base_parameters_are_within_their_deviations(bench, result) -> None:
    assert result.rank == len(result.base.names) == len(result.base.values)
    np.testing.assert_allclose(result.base.matrix @ result.parameters.values, result.base.values)
    truth = result.base.matrix @ bench.truth
    score = (result.base.values - truth) / result.base.std
    assert np.sqrt(np.mean(score**2)) < 1.5
    assert result.base.matrix.shape == (len(result.base.names), len(bench.robot.parameter_names))
    assert 0 < len(result.essential) <= result.rank
    assert set(result.essential) <= set(result.base.names)
    assert 1 < result.condition_number < 1000


def test_errors_are_the_noise(bench, result) -> None:
    """White noise below 5 Hz of 100 Hz: a tenth of its power goes through the filter on this grid."""
    expected = 0.05 * np.sqrt(5.0 / 100.0)
    np.testing.assert_allclose(result.fit.rms, expected, rtol=0.25)
    np.testing.assert_allclose(result.validation.rms, expected, rtol=0.25)
    assert result.validation.total == pytest.approx(result.relative_error(bench.dataset(2)).total)


def test_relative_error_is_that_of_the_prediction(bench, result) -> None:
    data = bench.dataset(3)
    predicted = result.predict(data)
    error = result.relative_error(data)
    used = predicted.moving
    squares = np.where(used, predicted.residual, 0.0) ** 2
    torques = np.where(used, predicted.measured, 0.0) ** 2
    assert error.total == pytest.approx(np.sqrt(squares.sum() / torques.sum()), rel=1e-9)
    np.testing.assert_allclose(error.per_joint, np.sqrt(squares.sum(axis=0) / torques.sum(axis=0)), rtol=1e-9)
    assert predicted.time[0] > data.t[0]
    assert (error.rows == used.sum(axis=0)).all()


def test_errors_of_several_datasets_are_stacked(bench, result) -> None:
    one, two = bench.dataset(4), bench.dataset(5, seconds=20.0)
    both = result.relative_error([one, two])
    assert (both.rows == result.relative_error(one).rows + result.relative_error(two).rows).all()


def test_revolute_and_prismatic_are_not_stacked(result, bench) -> None:
    from heft.identify.information.reduction import reduce

    information = reduce(bench.robot, bench.dataset(3), result.processing)
    values = result.parameters.values
    mixed = RelativeError.of(information, values, np.array([False, True, False]))
    alike = RelativeError.of(information, values, np.array([False, False, False]))
    assert mixed.mixed
    assert not alike.mixed
    assert mixed.total == pytest.approx(np.sqrt(np.mean(mixed.per_joint**2)))
    assert mixed.total != pytest.approx(alike.total)


def test_consistency_at_its_level_and_at_others(result) -> None:
    assert result.level == "full"
    assert result.consistent
    assert result.consistency().ok
    assert result.consistency("mass").level == "mass"
    assert result.consistency("shape").margins.keys() == {"link1", "link2", "link3"}


def test_provenance(bench, result) -> None:
    data = bench.dataset(1)
    (origin,) = result.provenance.data
    assert origin.hash == data.fingerprint
    assert origin.samples == len(data)
    assert result.provenance.configuration["method"] == "sdp"
    assert result.provenance.configuration["bounds"]["total_mass"] == [8.0, 16.0]
    assert {"python", "numpy", "clarabel"} <= set(result.provenance.versions)


def test_a_file_holds_everything(tmp_path, bench, result) -> None:
    path = result.save(tmp_path / "result.json")
    again = identify.load(path)
    assert again.to_dict() == result.to_dict()
    np.testing.assert_array_equal(again.parameters.values, result.parameters.values)
    np.testing.assert_array_equal(again.base.covariance, result.base.covariance)
    other = bench.dataset(6)
    assert again.relative_error(other).total == result.relative_error(other).total
    assert again.consistency("full") == result.consistency("full")


def test_the_file_is_plain_json_with_the_keys_others_rely_on(tmp_path, result) -> None:
    text = result.save(tmp_path / "result.json").read_text()
    data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    for key in ("method", "level", "consistent", "relative_error", "rank", "condition_number", "total_mass"):
        assert key in data
    assert set(data["relative_error"]) == {"fit", "validation"}
    assert data["parameters"]["link2.m"] == result.parameters["link2"].mass


def test_intervals_of_base_parameters_know_their_degrees_of_freedom(result) -> None:
    assert np.isfinite(result.base.degrees)
    ratio = result.base.half_widths / result.base.std
    np.testing.assert_allclose(ratio, stats.t.ppf(0.975, result.base.degrees))
    data = result.to_dict()
    del data["base"]["degrees"]  # as an earlier version wrote it
    earlier = Result.from_dict(data).base
    np.testing.assert_allclose(earlier.half_widths / earlier.std, 1.959964, rtol=1e-5)


def test_a_result_that_cannot_be_written_leaves_nothing(tmp_path, result) -> None:
    (tmp_path / "result.json").mkdir()
    with pytest.raises(ResultError, match=r"result\.json: cannot be written: .*; choose another place"):
        result.save(tmp_path / "result.json")
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_equal_inputs_give_equal_files(tmp_path, bench, result) -> None:
    from heft.identify import fit

    again = fit(bench.robot, bench.dataset(1), cutoff_hz=5.0, validate=bench.dataset(2))
    assert again.save(tmp_path / "one.json").read_bytes() == result.save(tmp_path / "two.json").read_bytes()


def test_infinite_deviations_survive_the_file(tmp_path, bench) -> None:
    data = bench.dataset(1)
    still = np.array(data.q)
    still[:, 2] = 0.5
    with_rest = Dataset.from_arrays(data.t, still, data.tau)
    found = identify.fit(bench.robot, with_rest, method="wls", cutoff_hz=5.0)
    assert np.isinf(found.base.std).any()
    again = identify.load(found.save(tmp_path / "result.json"))
    np.testing.assert_array_equal(again.base.std, found.base.std)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a result"),
        ("[1, 2]", "holds a list"),
        ('{"schema": "other"}', "schema 'other'"),
        ('{"schema": "heft.Result", "version": 99}', "version 99"),
        ('{"schema": "heft.Result", "version": 1}', "parts missing"),
    ],
)
def test_files_that_are_no_results(tmp_path, text: str, message: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(text)
    with pytest.raises(ResultError, match=message) as caught:
        identify.load(path)
    assert "result.json" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(ResultError, match="no such file"):
        identify.load(tmp_path / "nothing.json")
