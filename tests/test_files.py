"""Files are written whole or not at all."""

import pytest

from foglight.files import replacing, write_whole
from foglight.names import BadInput


def test_a_file_is_replaced_when_all_went_well_and_kept_otherwise(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as part:
        part.write_bytes(b"half of the n")
        assert path.read_bytes() == b"old"
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    with replacing(path) as part:
        part.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["no folder/file", "file/below", "folder"])
def test_what_cannot_be_written_gets_one_line(tmp_path, name):
    (tmp_path / "file").write_bytes(b"here")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match=r"cannot write .* \(.*\); choose another file$") as error:
        write_whole(tmp_path / name, b"content")
    assert "\n" not in str(error.value)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]
