"""What the sources say is so: no statement is without effect, and names in docstrings are those of something."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator

import pytest
import yaml

from tests.test_imports import MAY_IMPORT, module_name, modules_of, syntax_tree

#: Names of libraries as docstrings write them.
LIBRARIES = {"argparse", "keras", "pandas", "scipy", "st", "sys", "tf", "torch"}
FILE_ENDINGS = {"css", "csv", "js", "json", "md", "parquet", "toml", "txt"}
#: Folders of what pip can install.
INSTALLABLE = (".", "profet_recorder")
Function = ast.FunctionDef | ast.AsyncFunctionDef
SOURCES = {path: syntax_tree(path) for part in MAY_IMPORT for path in modules_of(part)}
OTHERS = {path: syntax_tree(path) for part in ("benchmarks", "docs", "tests") for path in modules_of(part)}


def without_effect(tree: ast.AST) -> Iterator[int]:
    """Lines of statements that compute a truth and let it go: `check(a) or b == {}` asserts nothing of `b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.BoolOp | ast.Compare | ast.UnaryOp | ast.BinOp):
            yield node.lineno


def test_no_statement_is_without_effect():
    assert [f"{path}:{line}" for path, tree in (SOURCES | OTHERS).items() for line in without_effect(tree)] == []
    assert list(without_effect(ast.parse("check(a) or b == {}\na == b\nnot a\nassert a or b\ncheck(a)"))) == [1, 2, 3]


def defined(owner: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Names that a module or a class has, its classes' and those its methods give to `self` among them."""
    for node in ast.iter_child_nodes(owner):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name, node
            if isinstance(owner, ast.ClassDef):
                yield from ((part.attr, part) for part in ast.walk(node) if isinstance(part, ast.Attribute))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name, node) for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from ((part.id, part) for part in ast.walk(node) if isinstance(part, ast.Name))
        elif isinstance(node, ast.If | ast.Try):
            yield from defined(node)


def qualified_names() -> set[str]:
    """Of all modules, classes, functions, constants and fields: "profet_profiles.units.format_time"; and files."""
    names = {path.name for path in SOURCES}
    for path, tree in SOURCES.items():
        todo = [(module_name(path), tree)]
        while todo:
            name, owner = todo.pop()
            names.add(name)
            if isinstance(owner, ast.Module | ast.ClassDef):
                todo += [(f"{name}.{inner}", node) for inner, node in defined(owner)]
    return names


def dotted_names(tree: ast.AST) -> Iterator[str]:
    """In backticks in docstrings: `module.name`, `Class.field`; not of parameters, libraries and files."""
    parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        text = ast.get_docstring(node) if isinstance(node, Function | ast.ClassDef | ast.Module) else None
        for name in re.findall(r"`([a-zA-Z_]\w*(?:\.[a-zA-Z_]\w*)+)(?:\(\))?`", text or ""):
            first, last = name.split(".")[0], name.rpartition(".")[2]
            if first not in LIBRARIES | parameters and last not in FILE_ENDINGS:
                yield name


@pytest.fixture(scope="module")
def endings() -> set[str]:
    """Every way to shorten a qualified name from its left."""
    return {name.split(".", start)[-1] for name in qualified_names() for start in range(name.count(".") + 1)}


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_dotted_names_in_docstrings_are_those_of_something(part, endings):
    named = [(path, name) for path in modules_of(part) for name in dotted_names(SOURCES[path])]
    assert [f"{path}: {name}" for path, name in named if name not in endings] == []


def test_a_name_that_moved_is_found(endings):
    old = ast.parse('"""As `scaling.scale` takes it, one of `units.format_time` and `Column.no_such_field`."""')
    assert [name for name in dotted_names(old) if name not in endings] == ["scaling.scale", "Column.no_such_field"]


def test_nothing_is_installed_from_an_index_where_its_name_is_not_ours(repository):
    ours = {tomllib.loads((repository / at / "pyproject.toml").read_text())["project"]["name"] for at in INSTALLABLE}
    listed = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True).stdout
    texts = [
        repository / name for name in listed.splitlines() if name.endswith((".md", ".py", ".toml", ".yaml", ".sh"))
    ]
    unpinned = {
        (path.name, word)
        for path in texts
        for words in re.findall(r"\bpip3? install ((?:[^\s`;]+ ?)+)", path.read_text())
        for word in re.split(r"[\s'\"`,]+", words)
        if re.split(r"[\[=<>~.]", word)[0].lower().replace("_", "-") in ours | {"profet"}
    }
    assert unpinned == set()


def test_hosted_ci_runs_the_readme_s_commands_on_every_supported_python_and_two_systems(repository):
    (job,) = yaml.safe_load((repository / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"].values()
    matrix = job["strategy"]["matrix"]
    declared = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    low, high = re.findall(r"3\.(\d+)", declared["project"]["requires-python"])
    assert matrix["python"] == [f"3.{minor}" for minor in range(int(low), int(high))] and len(matrix["os"]) == 2
    commands = " ".join(step.get("run", "") for step in job["steps"])
    assert re.findall(r"make (?:app|test)", (repository / "README.md").read_text(encoding="utf-8"))
    assert all(re.search(rf"{command}\b", commands) for command in ("make app", "make test", "make coverage"))
    assert declared["tool"]["coverage"]["report"]["fail_under"] >= 96


def test_issue_templates_ask_for_what_a_fix_needs(repository):
    templates = [yaml.safe_load(path.read_text()) for path in sorted((repository / ".github/ISSUE_TEMPLATE").iterdir())]
    assert [template["name"] for template in templates] == ["A file that isn't read", "A wrong number"]
    for template in templates:
        fields = [field for field in template["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in fields}) == len(fields) >= 4
        assert any(field["id"] == "version" and field["validations"]["required"] for field in fields)


def test_no_public_class_has_the_name_of_another_one():
    trees = [*SOURCES.values(), *(tree for path, tree in OTHERS.items() if "tests" not in path.parts)]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    twice = {name for name, number in names.items() if number > 1 and not name.startswith("_")}
    assert not twice, "rename one by what it means"
