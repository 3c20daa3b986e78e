"""The page of `halfstep report` in a browser, compared with --json."""
import html.parser
import http.server
import json
import os
import queue
import shutil
import subprocess
import threading

import pytest

PROGRAM = os.environ.get("HALFSTEP_PROGRAM", "build/release/halfstep")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HEADLESS = ["--headless=new", "--no-sandbox", "--disable-gpu"]


class Text(html.parser.HTMLParser):
    """The words of a page outside of its style, and the descriptions of its pictures."""

    def __init__(self):
        super().__init__()
        self.words, self.alts, self.sources, self.hidden = [], [], [], 0

    def handle_starttag(self, tag, attributes):
        self.hidden += tag == "style"
        values = dict(attributes)
        self.alts.append(values.get("alt", ""))
        self.sources += [values[name] for name in ("src", "href") if name in values]

    def handle_endtag(self, tag):
        self.hidden -= tag == "style"

    def handle_data(self, data):
        if not self.hidden:
            self.words.append(data)


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def opened(page):
    """Return the page's source after the browser has loaded it."""
    return run(BROWSER, *HEADLESS, f"--user-data-dir={page.parent / 'browser'}", "--virtual-time-budget=5000", "--dump-dom", f"file://{page}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not BROWSER:
        pytest.skip("no chromium to open the page in")
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def shown(folder):
    """Return the output of --json, and the page from the browser."""
    run(PROGRAM, "quickstart", "--out", folder / "quick", "--epochs", 3)
    bits = run(PROGRAM, "bits", folder / "quick/prepared.safetensors", "--budget", "size<=60kB", "--samples", 40, "--out", folder / "bits.safetensors", "--json")
    (folder / "bits.json").write_text(bits)
    words = ["--samples", 120, "--analyzed", 80, "--bits", folder / "bits.json", "--out", folder / "page.html", "--json"]
    said = json.loads(run(PROGRAM, "report", folder / "quick/prepared.safetensors", *words))
    page = Text()
    page.feed(opened(folder / "page.html"))
    return said, page


def test_it_shows_what_the_json_says(shown):
    said, page = shown
    text = " ".join(page.words)
    assert said["verdict"] in text
    assert said["validation"] in text
    for layer in said["layers"]:
        assert layer in page.words, layer
    for quantizer in said["analysis"]["quantizers"]:
        assert f"{quantizer['place']}, {quantizer['bits']} bits, {100 * quantizer['clipped']:.2f} % clipped" in text
    for sample in said["worst"]:
        assert any(f"sample {sample['sample']}:" in alt for alt in page.alts)
    assert {bit_widths["kind"] for bit_widths in said["bit_widths"]} == {"front", "uniform", "chosen"}
    for bit_widths in said["bit_widths"]:
        assert f"{round(bit_widths['bytes']):,}" in text


def test_it_needs_nothing_else(shown):
    _, page = shown
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in page.sources), page.sources


class Paint(http.server.BaseHTTPRequestHandler):
    """Serves a page that reports its first paint, and receives the report."""

    page, heard = b"", None

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        place, _, milliseconds = self.path.partition("?")
        if place == "/":
            self.wfile.write(self.page)
        elif place == "/painted":
            self.heard.put(float(milliseconds))

    def log_message(self, *_):
        pass


def test_it_is_small_and_soon_there(folder, shown):
    """The size is checked, and the time is printed (pytest -s)."""
    page = (folder / "page.html").read_text()
    assert len(page.encode()) <= 2_000_000
    watch = "<script>new PerformanceObserver(list => list.getEntriesByName('first-contentful-paint').forEach(entry => fetch('/painted?' + entry.startTime)))"
    Paint.page = page.replace("</head>", watch + ".observe({type: 'paint', buffered: true})</script></head>", 1).encode()
    Paint.heard = queue.Queue()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Paint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    words = [*HEADLESS, f"--user-data-dir={folder / 'painter'}", f"http://127.0.0.1:{server.server_port}/"]
    browser = subprocess.Popen([BROWSER, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        paint = Paint.heard.get(timeout=120)
    except queue.Empty:
        pytest.skip("the browser painted nothing in two minutes: no time of a first paint to tell")
    finally:
        browser.terminate()
        browser.wait()
        server.shutdown()
        server.server_close()
    print(f"{len(page):,} bytes, first paint after {paint:.0f} ms")
