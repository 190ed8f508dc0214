"""A browser in one minute for Scripts/run: it enters a console with the printed address, edits a value on the page of an
app, and sees a mistake refused.

    console.py ADDRESS APP KEY VALUE     the edit; exits with 0 only if the page then shows it
"""
import http.client
import re
import sys
import urllib.parse


class Browser:
    """One browser with its cookie."""

    def __init__(self, address):
        place, self.token = address.split("#")
        self.origin = place.rstrip("/")
        self.host = self.origin.split("//")[1]
        self.cookie = ""

    def send(self, method, path, body=None):
        fields = {"Cookie": self.cookie} if self.cookie else {}
        if body is not None:
            fields |= {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
        connection = http.client.HTTPConnection(self.host, timeout=20)
        connection.request(method, path, body, fields)
        answer = connection.getresponse()
        return answer.status, answer, answer.read().decode()

    def enter(self):
        status, answer, _ = self.send("POST", "/enter", urllib.parse.urlencode({"token": self.token}))
        assert status == 303, f"the token was refused: {status}"
        self.cookie = answer.getheader("Set-Cookie").split(";")[0]

    def page(self, path):
        status, _, text = self.send("GET", path)
        assert status == 200, f"{path}: {status} {text}"
        return text


def main(address, app, key, value):
    browser = Browser(address)
    assert browser.send("GET", "/")[0] == 403, "a browser without a token is let in"
    browser.enter()
    browser.page("/")
    path = f"/apps/{app}"
    assert f'href="{path}"' in browser.page("/apps"), "the app is not listed"
    page = browser.page(path)
    form = re.search(r'name="form" value="(\w+)"', page[page.index('id="values"'):]).group(1)
    fields = {"form": form, f"v.{key}": value}
    status = browser.send("POST", path, urllib.parse.urlencode(fields | {"v.colour": "no colour"}))[0]
    assert status == 422, f"a form with a mistake: {status} instead of 422"
    status = browser.send("POST", path, urllib.parse.urlencode(fields))[0]
    assert status == 303, f"the edit: {status}"


main(*sys.argv[1:])
