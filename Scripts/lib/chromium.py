"""Chromium without a window, through its driver (W3C WebDriver). It needs Debian's packages chromium and chromium-driver."""
import base64
import http.client
import json
import re
import subprocess
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ENTER = "\ue007"


class Driver:
    """A browser, until its end is asked for."""

    def __init__(self):
        self.process, port = self.start()
        self.connection, self.session = http.client.HTTPConnection("127.0.0.1", port, timeout=60), ""
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars"]
        found = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments}}}})
        self.session = f"/session/{found['sessionId']}"

    @staticmethod
    def start():
        """A driver, which prints the free port that it has found and nothing more after that. It takes the port for
        both families of addresses, one after the other, and ends if another driver was faster with the second."""
        for _ in range(10):
            process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
            ports = (re.search(r"started successfully on port (\d+)", line) for line in process.stdout)
            if port := next((int(found[1]) for found in ports if found), None):
                return process, port
            process.wait()
        raise RuntimeError("chromedriver ends without a port")

    def call(self, method, path, body=None):
        try:
            self.connection.request(method, self.session + path, None if body is None else json.dumps(body))
            answer = json.loads(self.connection.getresponse().read())["value"]
        except OSError:
            self.connection.close()
            raise
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(f"{path}: {answer['message']}")
        return answer

    def end(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    def enter(self, address):
        """Enters a console by an address that it has printed; the console's origin."""
        self.go(address)
        if not self.wait("document.querySelector('header nav') !== null"):
            raise RuntimeError("the address does not let the browser in")
        return address.split("/#")[0]

    def run(self, script, *values):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(values)})

    def run_later(self, script, *values):
        """As run; the script answers by calling its last argument."""
        return self.call("POST", "/execute/async", {"script": script, "args": list(values)})

    def find(self, css):
        return self.call("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        # In the middle of the window, where nothing sticks that would cover it.
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", css)
        self.call("POST", f"/element/{self.find(css)}/click", {})

    def scripts(self, are_allowed):
        """Scripts of pages run or do not; those of the driver do."""
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setScriptExecutionDisabled", "params": {
            "value": not are_allowed}})

    def all(self, css):
        return [found[ELEMENT] for found in self.call("POST", "/elements", {"using": "css selector", "value": css})]

    def keys(self, element, text):
        self.call("POST", f"/element/{element}/value", {"text": text})

    def size(self, width, height):
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}})

    def dark(self, is_dark):
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]}})

    def picture(self, folder, name):
        if folder:
            (folder / f"{name}.png").write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def wait(self, script, *values):
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if self.run("return " + script, *values):
                return True
            time.sleep(0.05)
        return False
