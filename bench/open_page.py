#!/usr/bin/env python3
"""Opens a page of `weft memory --html` in a headless Chromium and uses it as one would: python3 bench/open_page.py PAGE

Prints one JSON object: how long the page took from the address to its second picture, the longest time between two pictures while it was
panned by keys and by dragging, stepped through and zoomed (ms; a screen shows one every 16.7), and what it shows. Without Chromium it
says so and ends with 0. The browser is driven through a pipe, so nothing else is needed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

PAUSES = """window.pauses = [];
(function next(now) {
  if (window.before !== undefined) pauses.push(now - before);
  window.before = now;
  requestAnimationFrame(next);
})(performance.now())"""
SETTLE = "new Promise(done => setTimeout(done, 200)).then(() => { pauses.length = 0; })"
LONGEST = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(Math.max(...pauses)))))"
READY = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(document.body.dataset.ready))))"
PLACE = """(() => {
  const curve = document.getElementById('curve');
  curve.scrollIntoView({block: 'center'});
  curve.focus();
  const r = curve.getBoundingClientRect();
  return [r.left, r.top, r.width, r.height];
})()"""


class Browser:
    def __init__(self, program, profile):
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1280,900",
                   f"--user-data-dir={profile}", "about:blank"]
        # The browser listens on 3 and speaks on 4; both ends are moved up first, lest one is overwritten.
        shell = f'exec 8<&{read_there} 9>&{write_there}; exec 3<&8 4>&9 8<&- 9>&-; exec "$@"'
        self.process = subprocess.Popen(["sh", "-c", shell, "sh", *command], pass_fds=(read_there, write_there),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_there)
        os.close(write_there)
        self.hear, self.say, self.heard = read_here, write_here, b""
        self.calls, self.session, self.events = 0, None, []

    def message(self):
        while b"\0" not in self.heard:
            more = os.read(self.hear, 1 << 20)
            if not more:
                raise SystemExit("the browser ended")
            self.heard += more
        one, self.heard = self.heard.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.calls += 1
        request = {"id": self.calls, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.say, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.calls:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise SystemExit(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def has(self, method):
        return any(event.get("method") == method for event in self.events)

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def press(self, key, times):
        for _ in range(times):
            text = key if len(key) == 1 else ""
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def drag(self, place):
        left, top, width, height = place

        def mouse(kind, share, **more):
            self.call("Input.dispatchMouseEvent", type=kind, x=left + width * share, y=top + height / 2, button="left", **more)

        mouse("mousePressed", 0.8, clickCount=1)
        for i in range(60):
            mouse("mouseMoved", 0.8 - i / 100, buttons=1)
        mouse("mouseReleased", 0.2, clickCount=1)

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except SystemExit:
            pass
        self.process.wait()


def opened(browser, page):
    begun = time.monotonic()
    browser.call("Page.navigate", url=f"file://{page}")
    while not browser.has("Page.loadEventFired"):
        browser.events.append(browser.message())
    ready = browser.value(READY)
    return time.monotonic() - begun, ready


def used(browser):
    """What each way of moving through the page cost, and what it showed then."""
    place = browser.value(PLACE)
    browser.value(PAUSES)
    pauses, shown, ranges = {}, {}, {}
    acts = [("pan_all", lambda: browser.press("ArrowLeft", 20)), ("step", lambda: browser.press(",", 20)),
            ("zoom", lambda: browser.press("+", 4)), ("pan", lambda: browser.press("ArrowLeft", 20)),
            ("drag", lambda: browser.drag(place)), ("zoom_far", lambda: browser.press("+", 12)),
            ("pan_far", lambda: browser.press("ArrowRight", 20)), ("drag_far", lambda: browser.drag(place)),
            ("first", lambda: browser.press("Home", 1)), ("last", lambda: browser.press("End", 1)), ("peak", lambda: browser.press("p", 1))]
    for name, act in acts:
        browser.value(SETTLE)
        act()
        pauses[name] = round(browser.value(LONGEST), 1)
        shown[name] = browser.value("document.getElementById('state').textContent")
        ranges[name] = browser.value("[Math.round(from), Math.round(to)]")
    return pauses, shown, ranges


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    page = os.path.abspath(sys.argv[1])
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        print("no Chromium here")
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        browser.attach()
        seconds, ready = opened(browser, page)
        pauses, shown, ranges = used(browser)
        browser.value("document.getElementById('map').focus()")
        browser.press("ArrowRight", 1)
        browser.press("ArrowDown", 1)
        block = browser.value("document.getElementById('detail').textContent")
        colour = "getComputedStyle(document.body).backgroundColor"
        light = browser.value(colour)
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        dark = browser.value(colour)
        asked = [event["params"]["request"]["url"] for event in browser.events if event.get("method") == "Network.requestWillBeSent"]
        fits = {}
        for width in (320, 768):
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            fits[width] = browser.value("document.documentElement.scrollWidth <= innerWidth")
        browser.close()
    print(json.dumps({"ready": ready == "true", "opened_s": round(seconds, 3), "longest_pause_ms": max(pauses.values()), "pauses_ms": pauses,
                      "shown": shown, "events_in_view": ranges, "block": block, "light": light, "dark": dark, "fits": fits,
                      "asked_for": [url for url in asked if not url.startswith("file://")]}, indent=2))


if __name__ == "__main__":
    main()
