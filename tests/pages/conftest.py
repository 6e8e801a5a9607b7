"""Runs the app from its entry point, as a visitor's session does."""

from __future__ import annotations

import gc
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Radio, Selectbox

from profet_core import Catalog, Models
from profet_core.answers.advise import AdviseAnswer
from profet_core.catalog import load_gpus
from profet_core.training.plans import Period
from profet_core.training.recommend import recommend
from profet_core.training.words import card_title
from profet_profiles.units import format_usd, shared_time_unit, time_unit
from tests.pages.expected import Core, shown_rows
from ui.columns import out_columns, predict_columns, size_columns

ALL_COLUMNS = {
    "predict": [column.key for column in predict_columns(Period.TRAINING, time_unit(1.0), load_gpus())[1:]],
    "sizes": [column.key for column in size_columns(time_unit(1.0))[1:]],
    "scale_out": [column.key for column in out_columns(time_unit(1.0))[1:]],
}
_PAGES = Path(__file__).parents[2] / "pages"
#: Every page -> its script, as the navigation names it.
PAGES = {
    path.stem: f"../pages/{path.stem}/{path.name}"
    for path in sorted(_PAGES.glob("*/*.py"))
    if path.stem == path.parent.name
}


@pytest.fixture(scope="package", autouse=True)
def _lasting_objects_are_frozen() -> Iterator[None]:
    """Streamlit collects garbage after every run of a page: not through all that earlier tests have loaded."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session")
def open_app(repository: Path) -> Callable[..., AppTest]:
    """Open a page in a new session, by a link with these query parameters."""

    def open_page(page: str = "predict", **query: str) -> AppTest:
        app = AppTest.from_file(str(repository / "ui" / "navigation.py"), default_timeout=30)
        if page == "predict":
            # A table's cells can be read one by one.
            query.setdefault("chart", "table")
        app.query_params.update(query)
        if page != "predict":
            # AppTest opens the entry point; switching before the first run opens the page as a link does.
            app.switch_page(PAGES[page])
        return app.run()

    return open_page


@pytest.fixture(scope="session")
def first_view(open_app: Callable[..., AppTest]) -> Callable[..., list[dict[str, str]]]:
    """The rows that a page shows a newcomer; each page is opened for them once."""
    return cache(lambda page="predict": answer(open_app(page)))


@pytest.fixture(scope="session")
def core(models: Models, catalog: Catalog) -> Core:
    """profet_core, asked as the pages ask it."""
    return Core(models, catalog)


@pytest.fixture(scope="module")
def models_copy(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder whose reports may be changed."""
    return Path(shutil.copytree(repository / "models", tmp_path_factory.mktemp("home") / "models"))


@pytest.fixture
def serve_report(models_copy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Serve the copied models with another report of that file name; None takes it away."""
    shipped: dict[Path, bytes] = {}

    def serve(name: str, content: str | None) -> Path:
        path = models_copy / name
        if path not in shipped:
            shipped[path] = path.read_bytes()
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(content)
        monkeypatch.setenv("PROFET_HOME", str(models_copy))
        st.cache_resource.clear()
        return path

    yield serve
    for path, content in shipped.items():
        path.write_bytes(content)
    st.cache_resource.clear()


def go(app: AppTest, page: str, **query: str) -> AppTest:
    """Switch pages within the session, by a link with these query parameters."""
    app.query_params.update(query)
    return app.switch_page(PAGES[page]).run()


def give(app: AppTest, *files: tuple[str, bytes], slot: str = "") -> AppTest:
    """Give files to an uploader of the page: the first, or that of a slot."""
    uploader = next(item for item in app.file_uploader if item.key.startswith(f"{slot}:file:" if slot else ""))
    return uploader.set_value([(name, data, "application/octet-stream") for name, data in files]).run()


def upload(app: AppTest, *files: tuple[str, bytes], slot: str = "", recorded_on: str | None = "g4dn.xlarge") -> AppTest:
    """Choose the upload tab, of the first slot or another, give files, and say where the last was recorded if asked."""
    if slot:
        open_more(app)
    app.segmented_control(key=f"{slot}_source" if slot else "source").set_value("upload").run()
    give(app, *files, slot=slot)
    return say_missing(app, anchor=recorded_on) if recorded_on is not None and "anchor" in missing(app) else app


def open_more(app: AppTest, page: str = "predict") -> AppTest:
    """Open "More options", whose fields are drawn only then."""
    app.session_state[f"more:{page}"] = True
    return app.run()


def missing(app: AppTest) -> dict[str, str]:
    """What the form in the main area asks of an upload -> the widget's key."""
    asked = (*app.selectbox, *app.number_input)
    return {one.key.split(":")[1]: one.key for one in asked if str(one.key).startswith("missing:")}


def say_missing(app: AppTest, **answers: str | int) -> AppTest:
    """Answer what the form asks: `anchor`, `batch_size`, `pixels`."""
    keys = missing(app)
    for name, answer in answers.items():
        (app.selectbox if name == "anchor" else app.number_input)(key=keys[name]).set_value(answer)
    (button,) = [one for one in app.button if one.label == "Continue"]
    return button.click().run()


def type_in(app: AppTest, key: str, typed: float | None) -> AppTest:
    """Type a number into the field of a setting; None empties it."""
    if key.endswith("latency"):
        return app.text_input(key=key).set_value("" if typed is None else str(typed)).run()
    return app.number_input(key=key).set_value(typed).run()


def answer_field(widgets: Iterable[Any], key: str) -> Any:
    """A field of an uploaded profile, whose key ends with what it shows."""
    return next(widget for widget in widgets if str(widget.key).startswith(f"{key}:"))


def custom(app: AppTest) -> dict[str, str]:
    """Name -> key of the visitor's list."""
    return {held.name: key for key, held in app.session_state["custom_profiles"].items()}


def open_section(app: AppTest, name: str) -> AppTest:
    """Turn to a section of About."""
    return app.segmented_control(key="open").set_value(name).run()


def prices(app: AppTest) -> AppTest:
    """Have the dialog of prices open in the next run; a run without another click on its button closes it."""
    app.button(key="offers").click()
    return app


def open_prices(app: AppTest) -> AppTest:
    """Open the dialog of prices."""
    return prices(app).run()


@pytest.fixture
def edit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Edit a table of the dialog of prices: AppTest has no data editor, so a button takes its place."""
    edits: dict[str, object] = {}

    def drawn(_data, *, key: str, on_change: Callable[[], None], **_more) -> None:
        def take() -> None:
            st.session_state[key] = dict(edits)
            on_change()

        st.button("Edit", key=f"edit:{key.partition(':')[0]}", on_click=take)

    def edited(app: AppTest, table: str, *added: dict, changed: Mapping | None = None, removed=()) -> AppTest:
        edits.update(added_rows=list(added), edited_rows=changed or {}, deleted_rows=list(removed))
        if f"{table}:table" in app.session_state:
            del app.session_state[f"{table}:table"]
        open_prices(app)
        return prices(app).button(key=f"edit:{table}").click().run()

    monkeypatch.setattr(st, "data_editor", drawn)
    return edited


def price(app: AppTest, edit: Callable[..., AppTest], name: str, usd: float | None) -> AppTest:
    """Type a price of an offer in the dialog of prices; None empties it."""
    open_prices(app)
    prices(app).text_input(key="prices:search").set_value(name).run()
    return edit(prices(app), "prices", changed={"0": {"usd": usd}})


def custom_gpu(app: AppTest, fields: Mapping[str, object], name: str = "") -> AppTest:
    """Fill in the form of a custom GPU, a new one or the one of that name, and save it."""
    open_prices(app)
    if name:
        prices(app).selectbox(key="custom-gpu").set_value(name).run()
    prices(app)
    widgets = {one.key: one for one in (*app.text_input, *app.number_input, *app.selectbox)}
    for field, value in fields.items():
        widgets[f"custom-gpu:{name}:{field}"].set_value(value or "" if field == "gpu" else value)
    (save,) = [one for one in app.button if one.label == ("Save" if name else "Add GPU")]
    return save.click().run()


def remove_gpu(app: AppTest, name: str) -> AppTest:
    """Remove a custom GPU in its form."""
    open_prices(app)
    prices(app).selectbox(key="custom-gpu").set_value(name).run()
    prices(app)
    return next(button for button in app.button if button.label.replace("\\", "") == f"Remove {name}").click().run()


def look_at(app: AppTest, name: str) -> AppTest:
    """Choose one of the visitor's own on the list of Profiles."""
    return listing(app).set_value(custom(app)[name]).run()


def listing(app: AppTest) -> Radio | Selectbox:
    """Compare's list of profiles; inside one, a box above it."""
    return next(widget for widget in (*app.radio, *app.selectbox) if widget.key == "inspected")


def inside(app: AppTest) -> AppTest:
    """Look inside the profile that is chosen on Compare."""
    return app.segmented_control(key="view").set_value("inside").run()


def compared(app: AppTest) -> dict[str, dict[str, str]]:
    """Profile -> instance -> cell, of the comparison's table, the profiles in their order."""
    (table,) = result_tables(app)
    return {
        column["title"]: {row["key"]: row["cells"][place]["text"] for row in table["rows"]}
        for place, column in enumerate(table["columns"][:-1])
        if place
    }


def lines(elements) -> list[str]:
    """What a visitor reads, without the escapes that keep a stranger's text from being markdown."""
    return [element.value.replace("\\", "") for element in elements]


def result_rows(app: AppTest) -> list[dict[str, str]]:
    """Rows of the page's result table: column title to text, with what stands beneath the name as "Code"."""
    (table,) = result_tables(app)
    titles = [column["title"] for column in table["columns"]]
    return [
        {title: cell["text"] for title, cell in zip(titles, row["cells"], strict=True)}
        | {"Code": row["cells"][0]["beneath"]}
        for row in table["rows"]
    ]


def has_results(app: AppTest) -> bool:
    """Whether there is a result table on the page."""
    return bool(result_tables(app))


def result_tables(app: AppTest) -> list[dict]:
    """Charts, and the scripts of every page, have components too."""
    sent = [json.loads(element.proto.json or "{}") for element in app.get("bidi_component")]
    return [data for data in sent if "rows" in data]


def drawn_bars(app: AppTest) -> dict[str, list[dict[str, Any]]]:
    """Key of a chart -> what is drawn of each row, from the top: the row's fields beside its bar's."""
    sent = [json.loads(element.proto.json or "{}") for element in app.get("bidi_component")]
    (data,) = [one for one in sent if "charts" in one]
    return {
        chart["key"]: [
            row | {"name": " ".join([row["name"], *row["marks"]])} | row["bars"][place] for row in data["bars"]
        ]
        for place, chart in enumerate(data["charts"])
    }


def column(app: AppTest, title: str) -> dict[str, str]:
    """Key of the row, such as its instance's name -> cell, of one column of the page's result table.

    "Time" and "Cost" are of whatever period Predict shows.
    """
    (table,) = result_tables(app)
    names = [(head["title"], head["key"].capitalize()) for head in table["columns"]]
    place = next(place for place, name in enumerate(names) if title in name)
    return {row["key"]: row["cells"][place]["text"] for row in table["rows"]}


def assert_shows(app: AppTest, answer: AdviseAnswer) -> None:
    """The table's rows in their order, and the cards."""
    assert not app.error and not app.exception, lines(app.error)
    rows = shown_rows(answer, app.session_state["preset"], retired=app.session_state["include_retired"])
    plans = [row for row in rows if row.has_number]
    table = result_rows(app)
    assert [row["Instance"] for row in table] == [plan.name for plan in plans]
    unit = shared_time_unit(plan.total_s for plan in plans)
    for row, plan in zip(table, plans, strict=True):
        ends = plan.interval
        assert {name: row[name] for name in ("Training time", "Range", "Training cost", "Basis")} == {
            "Training time": unit.words(plan.total_s),
            "Range": "–" if ends is None else unit.range_words(ends.low_s, ends.high_s),
            "Training cost": format_usd(plan.total_usd),
            "Basis": plan.basis.word,
        }
    recommended = recommend(answer.advice.table, [plan.number for plan in plans])
    assert cards(app) == [
        (card_title(recommended, card), format_usd(card.plan.total_usd)) for card in recommended.cards
    ]


def cards(app: AppTest) -> list[tuple[str, str]]:
    """What each card recommends for, and its cost."""
    matches = (re.match(r"(.+?): \*\*.*?\n.*?\*\*(\$\S+)\*\*", text, re.DOTALL) for text in lines(app.markdown))
    return [(card[1], card[2]) for card in matches if card]


def answer(app: AppTest) -> list[dict[str, str]]:
    """The table, to compare one view of the page with another."""
    assert not app.exception
    return result_rows(app)


def notices(app: AppTest) -> list[str]:
    """What to do something about, line by line, and what to keep in mind."""
    return [line.removeprefix("- ") for block in lines([*app.warning, *app.caption]) for line in block.split("\n")]


def sentences(app: AppTest) -> list[str]:
    """Everything in running text, line by line, without marks of emphasis and lists."""
    blocks = [clean(line).replace("**", "") for line in lines((*app.markdown, *app.subheader))]
    return [line.removeprefix("- ") for block in blocks for line in block.split("\n")]


def everything(app: AppTest, table: str = "predict") -> AppTest:
    """Show retired GPUs and every offer too, and every column of the page's result table."""
    if table == "predict":
        app.session_state["include_retired"], app.session_state["preset"] = True, "all"
    app.session_state[f"{table}_columns"] = ALL_COLUMNS[table]
    return app.run()


def link(app: AppTest) -> dict[str, str]:
    """What the address says, but for what `everything` shows."""
    return {
        key: value
        for key, value in dict(app.query_params).items()
        if key not in ("include_retired", "rows", "chart", "preset") and not key.endswith("_columns")
    }


def rows(app: AppTest, table: int) -> list[dict[str, str]]:
    """All rows of a plain table on the page, each column to cell."""
    records = app.table[table].value.to_dict("records")
    return [{name: clean(cell) for name, cell in record.items()} for record in records]


def clean(cell: object) -> str:
    """A cell as a visitor reads it."""
    text = str(cell).replace("\\", "").replace("\N{WORD JOINER}", "")
    return text.replace("\N{NO-BREAK SPACE}", " ")


def as_version_1(operations: Mapping[str, float]) -> bytes:
    """A file as PROFET's recorder writes it: totals over two steps of these, and nothing else."""
    return json.dumps({name: 2 * us for name, us in operations.items()}).encode()


def as_version_2(operations: Mapping[str, float], **meta: object) -> bytes:
    """A profile file with meta."""
    return json.dumps({"operations": dict(operations), "meta": meta}).encode()
