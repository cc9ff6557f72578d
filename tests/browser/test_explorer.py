"""The explorer in a browser: keyboard, read-out, address, presets, drawing, night and phone."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageStat
from playwright.sync_api import Browser, Page

from dpbayes.figures.language import LOOKS
from dpbayes.figures.night import PAGE, at_night
from dpbayes.press.parameters import chosen_from_text, declared, load
from dpbayes.press.places import find_notebook
from dpbayes.study.one_release import EXPLORED
from dpexplorer import STATES, looks
from tests.browser.explorer_page import BOOK, served

pytestmark = pytest.mark.browser
READ_OUT = ".dp-said"
SPOKEN = """() => {
  const { explorer } = document.querySelector('.dp-explorer');
  return !explorer.frame && explorer.seen && explorer.spoken === explorer.seen;
}"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def browser(chromium: Browser) -> Browser:
    return chromium


Opener = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Opener]:
    """Return what opens a page and, at the end, finds no error and no request to elsewhere."""
    troubles: list[str] = []
    contexts = []

    def note(url: str) -> None:
        if not url.startswith((address, "data:", "blob:")):
            troubles.append(f"request to {url}")

    def open_page(path: str = "explorer.html", width: int = 1280, **more: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: note(request.url))
        page.on("response", lambda r: r.status >= 400 and troubles.append(f"{r.status} {r.url}"))
        page.on("console", lambda m: m.type in ("error", "warning") and troubles.append(m.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(address + path, wait_until="load")
        page.wait_for_selector(f"{READ_OUT} li")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def read_out(page: Page) -> str:
    """Return the read-out when it has followed the last change."""
    page.wait_for_function(SPOKEN)
    return page.inner_text(READ_OUT)


def brightness(picture: bytes) -> float:
    return float(ImageStat.Stat(Image.open(io.BytesIO(picture)).convert("L")).mean[0])


FOCUSED = """() => {
  const one = document.activeElement;
  if (!one.closest('.dp-explorer')) return null;
  const shown = getComputedStyle(one);
  return {tag: one.tagName.toLowerCase(), type: one.type || '', value: one.value ?? '',
    name: one.labels?.[0]?.textContent || one.getAttribute('aria-label') || one.textContent,
    outline: parseFloat(shown.outlineWidth), style: shown.outlineStyle};
}"""
KEYS = {"range": "ArrowRight", "radio": "ArrowDown", "select-one": "ArrowUp", "number": "ArrowUp"}


def test_every_control_is_reached_by_keyboard_and_shows_it(opened: Opener) -> None:
    page = opened()
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            break
        assert focused["name"].strip(), focused
        assert focused["style"] != "none", focused
        assert focused["outline"] >= 2, focused
        seen.append((focused["type"] or focused["tag"], focused["name"].strip()))
    in_page = page.locator(
        ".dp-explorer input:visible:not([type=radio]), .dp-explorer select, "
        ".dp-explorer button, .dp-explorer code"
    ).count()
    assert len(seen) == in_page + 2  # two groups of radio buttons, one stop each
    assert {kind for kind, _ in seen} >= {
        "range",
        "number",
        "select-one",
        "radio",
        "button",
        "code",
    }


def test_every_input_changes_the_read_out_by_keyboard(opened: Opener) -> None:
    page = opened(
        "explorer.html#n=40&ones=8&prior=2,3&mechanism=expMech-smooth&gamma=0.5&epsilon=2"
    )
    inputs = page.query_selector_all(".dp-explorer input")
    controls = [one for one in inputs if one.is_visible()]
    tried = set()
    before = read_out(page)
    # Another mechanism has other controls: it comes last.
    for control in [*controls, *page.query_selector_all(".dp-explorer select")]:
        kind = control.evaluate("one => one.type")
        if kind == "radio" and not control.is_checked():
            continue
        control.focus()
        if kind == "number":
            page.keyboard.press("Control+A")
            value = str(float(control.input_value()) + 1).removesuffix(".0")
            page.keyboard.type(value)
            page.keyboard.press("Enter")
        else:
            page.keyboard.press(KEYS[kind])
        after = read_out(page)
        assert after != before, control.evaluate("one => one.outerHTML")
        before = after
        tried.add(kind)
    assert tried == set(KEYS)


@pytest.mark.parametrize("key", ["Enter", "Tab"])
@pytest.mark.parametrize(
    ("label", "typed", "shown", "said"),
    [
        ("Records", "700", "500", "150 ones among 500 records"),
        ("Records", "3.7", "4", "1 one among 4 records"),
        ("Records", "", "100", "30 ones among 100 records"),
        ("Ones in the data (drag)", "200", "100", "100 ones among 100 records"),
        ("Ones in the data (drag)", "", "30", "30 ones among 100 records"),
        ("Prior: parameters for ones and zeros", "", "2", "prior (2, 3)"),
        ("Prior: parameters for ones and zeros", "1e9", "10000", "prior (10000, 3)"),
        ("Privacy parameter ε", "", "0.5", "nominal ε = 0.5"),
        ("Privacy parameter ε", "100", "20", "nominal ε = 20"),
    ],
)
def test_a_field_shows_what_is_computed_and_an_empty_one_changes_nothing(
    opened: Opener, label: str, typed: str, shown: str, said: str, key: str
) -> None:
    page = opened("explorer.html#n=100&ones=30&prior=2,3&mechanism=geometric&epsilon=0.5")
    row = page.locator(".dp-row", has=page.get_by_text(label, exact=True))
    field = row.locator("input[type=number]").first
    field.focus()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.type(typed)
    assert field.input_value() == typed  # nothing is changed below the fingers
    page.keyboard.press(key)
    assert said in read_out(page)
    assert field.input_value() == shown


def test_the_best_chance_of_a_guesser_is_never_rounded_down(opened: Opener) -> None:
    page = opened()
    losses = [0.0, 1e-4, 0.1, 1.0, 2.0, np.log(3.0), np.log(9.0), 7.3, 10.0, 20.0, 200.0]
    said = page.evaluate(
        """async (losses) => {
          const { guess } = await import('/explorer/words.js');
          return losses.map(guess);
        }""",
        losses,
    )
    for loss, words in zip(losses, said, strict=True):
        number, _, rest = words.partition(" ")
        assert rest == "of 100"
        chance = 1.0 / (1.0 + np.exp(-loss))
        assert chance <= float(number) / 100.0 + 1e-15
        assert float(number) / 100.0 - chance <= min(1e-3, 10.0 * (1.0 - chance) + 1e-15)
    assert said[:2] == ["50 of 100", "50.1 of 100"]
    assert said[5:7] == ["75 of 100", "90 of 100"]


ROOM = """menu => {
  const shown = getComputedStyle(menu), pen = document.createElement('canvas').getContext('2d');
  pen.font = shown.font;
  const padding = parseFloat(shown.paddingLeft) + parseFloat(shown.paddingRight);
  const arrow = 20;
  return menu.clientWidth - padding - arrow - pen.measureText(menu.selectedOptions[0].text).width;
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_the_chosen_mechanism_is_not_cut(opened: Opener, width: int) -> None:
    page = opened(width=width)
    menu = page.locator("select")
    names = menu.evaluate("one => [...one.options].map(option => option.value)")
    for name in names:
        menu.select_option(name)
        assert menu.evaluate(ROOM) > 0, name
        said = menu.evaluate(
            "one => document.getElementById(one.getAttribute('aria-describedby')).textContent"
        )
        assert said == LOOKS[name].plain
        others = menu.evaluate("one => [...one.options].filter(o => !o.selected).map(o => o.text)")
        assert others == [f"{other}: {LOOKS[other].plain}" for other in names if other != name]


def test_the_failure_probability_is_offered_where_it_counts(opened: Opener) -> None:
    page = opened()
    assert page.get_by_label("Failure probability δ", exact=True).count() == 1
    assert not page.get_by_label("Failure probability δ", exact=True).is_visible()
    page.locator("select").select_option("expMech-delta")
    before = read_out(page)
    page.get_by_label("Failure probability δ", exact=True).press("ArrowRight")
    assert read_out(page) != before
    assert not page.get_by_label("Smoothing rate γ", exact=True).is_visible()


def test_a_loss_that_is_never_finite_is_said_and_not_drawn(opened: Opener) -> None:
    page = opened("explorer.html#n=40&ones=8&mechanism=draft-laplace&promise=audited&noisy=3")
    said = read_out(page)
    assert "draft-laplace at nominal" in said
    assert "The release shown is 8 ones" in said  # this noise never lowers a count
    assert "Actual privacy loss infinitely large" in said
    assert "a chance of at most 100 of 100" in said
    assert not page.get_by_text("What ε stands for").is_visible()
    page.locator("select").select_option("geometric")
    assert page.get_by_text("What ε stands for").is_visible()


def test_link_and_command_go_to_the_clipboard(opened: Opener) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    page.locator("select").select_option("lapMech")
    page.get_by_label("Records", exact=True).press("ArrowRight")
    read_out(page)
    for name, wanted in (
        ("Copy link", page.evaluate("location.href")),
        ("Copy command", page.inner_text(".dp-command")),
    ):
        button = page.get_by_role("button", name=name)
        button.focus()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == wanted
        button.wait_for()
    assert "mechanism=lapMech" in wanted


def test_what_cannot_be_copied_is_said(opened: Opener) -> None:
    page = opened()
    refuse = "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }"
    page.evaluate(refuse)
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copy it from here by hand").wait_for()


def test_no_word_of_the_law_stands_at_the_other_line(opened: Opener) -> None:
    page = opened()
    sides = """async ([first, second]) => {
      const { outerSides } = await import('/explorer/charts.js');
      const chart = { bbox: { left: 0, width: 1000 }, valToPos: (value) => 10 * value };
      return outerSides(chart, first, second);
    }"""
    assert page.evaluate(sides, [30, 31]) == ["left", "right"]
    assert page.evaluate(sides, [31, 30]) == ["right", "left"]
    assert page.evaluate(sides, [0, 1]) == ["right", "right"]  # no room at the left end
    assert page.evaluate(sides, [99, 100]) == ["left", "left"]


def test_small_errors_and_single_records_are_written_as_they_are(opened: Opener) -> None:
    page = opened("explorer.html#n=1&ones=0&mechanism=geometric&epsilon=20")
    assert "0 ones among 1 record, prior" in read_out(page)
    marks = """async () => {
      const { tick } = await import('/explorer/charts.js');
      return [0, 2e-9, 0.025, 100].map(tick);
    }"""
    assert page.evaluate(marks) == ["0", "2e-9", "0.025", "100"]


def test_the_address_holds_the_state(opened: Opener) -> None:
    first = opened()
    first.locator("select").select_option("lapMech")
    first.get_by_label("Records", exact=True).press("ArrowRight")
    first.get_by_role("button", name="Draw one release").click()
    said = read_out(first)
    assert "101 records" in said
    link = first.evaluate("location.href")
    second = opened(link.partition("/")[2].partition("/")[2].partition("/")[2])
    assert read_out(second) == said
    assert second.evaluate("location.href") == link
    second.evaluate("location.hash = 'n=7&ones=2&mechanism=geometric'")
    second.get_by_text("2 ones among 7 records").wait_for()


@pytest.mark.parametrize("name", [name for name in STATES if name != "landing"])
def test_presets_open_in_their_state(opened: Opener, name: str) -> None:
    state = dict(part.split("=") for part in STATES[name].split("&"))
    page = opened(f"explorer.html#{STATES[name]}")
    said = read_out(page)
    count = int(state["ones"])
    people = f"{state['n']} record{'' if state['n'] == 1 else 's'}"
    assert f"{count} one{'' if count == 1 else 's'} among {people}" in said
    assert f"{state['mechanism']} at {state.get('promise', 'nominal')}" in said
    assert page.locator("select").input_value() == state["mechanism"]
    chosen = page.locator("input[type=radio]:checked")
    wanted = [state.get("distance", "hellinger"), state.get("promise", "nominal")]
    assert [chosen.nth(i).input_value() for i in range(2)] == wanted


def test_hostile_addresses_are_brought_into_range(opened: Opener) -> None:
    page = opened(
        "explorer.html#n=1e9&ones=-3&prior=0,NaN&epsilon=inf&mechanism=x&gamma=&noisy=1e99"
    )
    assert "0 ones among 500 records" in read_out(page)


def test_draws_follow_the_law(opened: Opener) -> None:
    """A chi-square test at 1e-6 of 30 000 draws each, on the modules the page uses."""
    page = opened()
    drawn = page.evaluate(
        """async () => {
          const { Model } = await import('/explorer/model.js');
          const { checkedState } = await import('/explorer/state.js');
          const found = {};
          const all = ['lapMech', 'ilapMech', 'draft-laplace', 'geometric', 'discrete-gaussian',
            'expMech-smooth', 'permute-and-flip'];
          for (const mechanism of all) {
            const model = new Model();
            const state = checkedState({ n: 12, ones: 4, mechanism, epsilon: 0.8 });
            const counts = Array(13).fill(0);
            for (let i = 0; i < 30000; i += 1) {
              const r = model.draw(state, (i + 0.5) / 30000);
              counts[Math.min(Math.max(r, 0), 12)] += 1;
            }
            found[mechanism] = { counts, law: [...model.compute(state).law] };
          }
          return found;
        }"""
    )
    for name, found in drawn.items():
        gap = np.abs(np.array(found["counts"]) - 30000 * np.array(found["law"]))
        assert gap.max() <= 1.5, (name, gap)  # the quantiles are spread evenly


def test_the_button_draws_other_releases(opened: Opener) -> None:
    page = opened("explorer.html#n=400&ones=200&mechanism=geometric&epsilon=0.02")
    found = set()
    for _ in range(6):
        page.get_by_role("button", name="Draw one release").click()
        text = read_out(page)
        match = re.search(r"The release shown is (\d+) one", text)
        assert match
        found.add(match[1])
    assert len(found) > 1


def test_the_command_is_one_that_the_package_accepts(opened: Opener) -> None:
    page = opened(f"explorer.html#{STATES['reading']}&distance=published&promise=audited")
    read_out(page)
    words = shlex.split(page.inner_text(".dp-command"))
    assert words[:3] == ["dpbayes", "run", "foundations/one-release"]
    name, path = find_notebook(words[2], BOOK.parent)
    values = chosen_from_text(name, declared(load(path)), words[4::2])
    assert values["counts"] == [6, 54]
    assert values["promise"] == "audited-published"
    assert values["noisy"] == -4


def test_charts_have_the_read_out_as_their_names(opened: Opener) -> None:
    page = opened()
    said = read_out(page)
    names = page.locator(".dp-chart").evaluate_all("all => all.map(one => one.ariaLabel)")
    assert len(names) == 4
    assert all(name.partition(". ")[2] in said.replace("\n", " ") for name in names)
    assert page.locator(READ_OUT).get_attribute("aria-live") == "polite"


def test_the_curve_of_the_mean_error_can_be_dragged(opened: Opener) -> None:
    page = opened()
    box = page.locator(".dp-chart").nth(2).locator(".u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 50, steps=4)
    page.mouse.up()
    assert "80 ones among 100" in read_out(page)


def test_it_is_dark_at_night(opened: Opener) -> None:
    page = opened()
    theme = "document.documentElement.dataset.theme = 'dark'"
    dark = f"{theme}; document.body.style.background = '{PAGE}'"
    read_out(page)
    by_day = brightness(page.locator(".dp-charts").screenshot())
    page.evaluate(dark)
    page.wait_for_timeout(300)
    assert by_day > 200
    assert brightness(page.locator(".dp-charts").screenshot()) < 80
    colour = page.evaluate(
        "getComputedStyle(document.querySelector('.dp-explorer')).getPropertyValue('--dp-mechanism')"
    )
    assert colour == at_night(LOOKS["expMech-smooth"].color)


def test_it_fits_on_a_phone(opened: Opener) -> None:
    for path in ("explorer.html", "small.html"):
        page = opened(path, width=390)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_small_one_leads_to_the_large_one(opened: Opener, address: str) -> None:
    page = opened("small.html")
    before = page.evaluate("location.href")
    page.get_by_label("Ones in the data (drag)", exact=True).press("ArrowRight")
    said = read_out(page)
    assert page.evaluate("location.href") == before
    page.get_by_role("link", name="Open the explorer with this").click()
    page.wait_for_selector(f"{READ_OUT} li:nth-child(5)")
    assert "31 ones among 100 records" in read_out(page)
    assert said.split("\n")[1] in page.inner_text(READ_OUT)


def test_what_stands_in_stays_without_scripts(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}explorer.html")
    assert "A stand-in." in page.inner_text("main")
    context.close()


def test_colours_and_plain_names_are_those_of_the_figures() -> None:
    table = json.loads(looks())
    assert set(table) == set(EXPLORED)
    for name, look in table.items():
        assert look["day"] == LOOKS[name].color
        assert look["plain"] == LOOKS[name].plain


def test_the_modules_are_short_and_offer_the_mechanisms_of_the_package(opened: Opener) -> None:
    for module in (BOOK / "_extra" / "explorer").glob("*.js"):
        assert len(module.read_text().splitlines()) < 350, module.name
    names = opened().evaluate(
        "async () => [...(await import('/explorer/mechanisms.js')).MECHANISMS.keys()]"
    )
    assert names == list(EXPLORED)
