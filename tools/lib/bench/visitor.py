"""A person who is signed in to the console, without a browser."""

import http.client
import re
import urllib.parse

from measure import Failure


class Visitor:
    """On one connection, which stays open."""

    def __init__(self, url, key):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=120)
        answer, page = self.ask("GET", "/console/sign-in")
        visitor = self.cookie(answer, "tally-visitor")
        token = re.search(rb'name="form_token" value="([^"]*)"', page)
        form = urllib.parse.urlencode({"form_token": token[1].decode(), "key": key})
        head = {"Cookie": visitor, "Content-Type": "application/x-www-form-urlencoded"}
        answer, page = self.ask("POST", "/console/sign-in", head, form)
        if answer.status != 303:
            raise Failure(f"signing in was answered with {answer.status}")
        self.session = self.cookie(answer, "tally-session")

    def ask(self, method, path, head=None, body=None):
        self.connection.request(method, path, body, head or {})
        answer = self.connection.getresponse()
        return answer, answer.read()

    def get(self, path):
        """Status and body."""
        answer, body = self.ask("GET", path, {"Cookie": self.session})
        return answer.status, body

    @staticmethod
    def cookie(answer, name):
        for field in answer.headers.get_all("Set-Cookie", []):
            if field.startswith(name + "="):
                return field.split(";")[0]
        raise Failure(f"there is no cookie '{name}'")
