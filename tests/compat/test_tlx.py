"""``import triton.language.extra.tlx`` is ours: a script for TLX runs unchanged."""

from tests.compat.test_scripts import SCRIPTS, compat


def test_a_script_with_tasks_and_barriers():
    run = compat(str(SCRIPTS / "tlx_ring.py"))
    assert run.stdout == "all good\n", run.stderr
    assert run.stderr == ""


def test_a_name_that_is_not_offered(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import triton.language.extra.tlx as tlx\ntlx.local_aloc\n")
    run = compat(str(path))
    assert run.returncode == 1
    assert "does not offer triton.language.extra.tlx.local_aloc; did you mean local_alloc?" in (
        run.stderr
    )
