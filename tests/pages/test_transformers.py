"""A vision transformer's profile on every page: estimated, and asked about where its file doesn't tell."""

import json

from profet_profiles import read_profile, write_profile
from tests.made.transformers import transformer_trace
from tests.pages.conftest import PAGES, lines


def test_a_vision_transformer_s_profile_is_answered_on_every_page(open_app):
    app = open_app(checkpointing="True")
    app.segmented_control(key="source").set_value("paste").run()
    app.text_area(key="pasted").set_value(write_profile(read_profile(transformer_trace())).decode()).run()
    assert not app.exception and not app.error
    assert any("shapes in the profile" in line for line in lines(app.caption))
    assert any("one more forward pass" in line for line in lines(app.caption))
    for page in ("sizes", "compare", "scale_out", "scaler"):
        app.switch_page(PAGES[page]).run()
        assert not app.exception and not app.error, page


def test_the_visitor_is_asked_where_nothing_tells_that_it_reads_images(open_app):
    events = json.loads(transformer_trace())
    events["traceEvents"] = [each for each in events["traceEvents"] if "conv" not in each["name"]]
    app = open_app()
    app.segmented_control(key="source").set_value("paste").run()
    app.text_area(key="pasted").set_value(write_profile(read_profile(json.dumps(events).encode())).decode()).run()
    assert any("whether it reads images" in line for line in lines(app.error))
    network = next(box for box in app.selectbox if box.label == "Network (optional)")
    network.set_value("vision-transformer").run()
    assert not any("whether it reads images" in line for line in lines(app.error))
