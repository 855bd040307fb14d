"""Lines of stages know the source lines that they came from."""

from pathlib import Path

from tilewright.dialects import make_context
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.report.studio.document import SourceLine, Sources
from tilewright.report.studio.stages import code_stage, ir_stage, plain_stage

IR = """\
#loc = loc("{file}":1:0)
#loc1 = loc("{file}":3:5)
#loc2 = loc("{file}":7:2)
module {{
  tt.func public @k(%x: i32 loc("x"("{file}":2:8))) {{
    %two = arith.constant 2 : i32 loc(#loc1)
    %y = arith.addi %x, %two : i32 loc("y"(#loc2))
    %z = arith.muli %y, %y : i32 loc(callsite(#loc1 at #loc2))
    %n = arith.constant 5 : i32 loc(unknown)
    tt.return loc(#loc)
  }} loc(#loc)
}} loc(#loc)
"""


def sources_with(path: Path, lines: int = 9) -> Sources:
    path.write_text("".join(f"line {i}\n" for i in range(1, lines + 1)))
    sources = Sources()
    assert sources.index(str(path)) == 0
    return sources


def test_lines_of_ir_have_the_innermost_position_and_no_locations(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    sources = sources_with(file)
    source = parse_source(make_context(), IR.format(file=file), "k.ttir", DiagnosticEngine())
    assert source is not None
    stage = ir_stage("ttir", source.module, sources)
    assert not any("loc(" in line.text or line.text.startswith("#loc") for line in stage.lines)
    found = {
        line.text.split("=")[1].split()[0]: line.origin
        for line in stage.lines
        if " = " in line.text
    }
    assert found["arith.addi"] == SourceLine(0, 7)
    assert found["arith.muli"] == SourceLine(0, 3), "of a call, where the callee is"
    constants = [line.origin for line in stage.lines if "arith.constant" in line.text]
    assert constants == [SourceLine(0, 3), None]
    openings = [line for line in stage.lines if line.text.endswith("{")]
    assert [line.origin for line in openings] == [SourceLine(0, 1)] * 2


def test_generated_code_has_the_lines_that_its_comments_name(tmp_path: Path) -> None:
    sources = sources_with(tmp_path / "gemm.py")
    text = "void f() {\n  // gemm.py:4\n  a();\n  b();\n  // gemm.py:6\n  c();\n}\nint d;\n  // other.py:1\n  e();\n"
    stage = code_stage("f.cu", text, sources)
    assert [line.origin and line.origin.line for line in stage.lines] == [
        *(None, 4, 4, 4, 6, 6, None),
        *(None, None, None),
    ]


def test_assembly_has_the_lines_of_its_directives(tmp_path: Path) -> None:
    sources = sources_with(tmp_path / "k.py")
    text = f'.file 1 "{tmp_path}" "k.py"\n.loc 1 5 3\nadd;\nmul;\n.loc 2 9 1\nsub;\n'
    stage = plain_stage("k.ptx", text, sources)
    assert [(line.text, line.origin and line.origin.line) for line in stage.lines] == [
        (f'.file 1 "{tmp_path}" "k.py"', None),
        *(("add;", 5), ("mul;", 5), (".loc 2 9 1", 5), ("sub;", 5)),
    ]


def test_a_file_that_cannot_be_read_gives_no_key(tmp_path: Path) -> None:
    sources = sources_with(tmp_path / "k.py")
    assert sources.line_of(str(tmp_path / "gone.py"), 3) is None
    assert sources.named("gone.py", 3) is None
    assert sources.line_of(str(tmp_path / "k.py"), 3) == SourceLine(0, 3)
