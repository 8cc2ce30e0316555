import os
from urllib.parse import parse_qs, urlsplit

import httpx
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from first_calls import ORIGIN, call, run

REDIRECT = "http://127.0.0.1:8765/callback"
RESOURCE = f"{ORIGIN}/v1"
SCOPE = "usage:read models:use offline_access"
server = {}
session = {}


@call("discover and register")
def register():
    server.update(httpx.get(f"{ORIGIN}/.well-known/oauth-authorization-server").raise_for_status().json())
    asked = {
        "client_name": "authlib",
        "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "client_secret_basic",
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": SCOPE,
    }
    made = httpx.post(server["registration_endpoint"], json=asked).raise_for_status().json()
    session["client"] = OAuth2Client(
        made["client_id"],
        made["client_secret"],
        scope=SCOPE,
        redirect_uri=REDIRECT,
        code_challenge_method="S256",
        token_endpoint_auth_method="client_secret_basic",
    )


def consented(url):
    """What the owner's browser does: it opens the page, and the owner agrees."""
    owner = {"cookie": os.environ["OWNER_COOKIE"], "origin": ORIGIN}
    page = httpx.get(url, headers={**owner, "accept": "text/html"}).headers["location"]
    agreed = {"accept": True, "oauth_query": urlsplit(page).query}
    return httpx.post(f"{ORIGIN}/api/auth/oauth2/consent", headers=owner, json=agreed).raise_for_status().json()["url"]


@call("authorization code with PKCE")
def authorize():
    client, verifier = session["client"], generate_token(48)
    url, state = client.create_authorization_url(
        server["authorization_endpoint"], code_verifier=verifier, resource=RESOURCE
    )
    back = consented(url)
    assert parse_qs(urlsplit(back).query)["iss"] == [server["issuer"]], back
    token = client.fetch_token(
        server["token_endpoint"], authorization_response=back, state=state, code_verifier=verifier, resource=RESOURCE
    )
    assert token["refresh_token"], token


@call("call with the token")
def whoami():
    answer = session["client"].get(f"{ORIGIN}/v1/whoami")
    assert answer.status_code == 200, answer.text


@call("refresh, introspect, revoke")
def rest():
    client = session["client"]
    token = client.refresh_token(server["token_endpoint"], resource=RESOURCE)
    told = client.introspect_token(server["introspection_endpoint"], token=token["access_token"]).json()
    assert told["active"] is True, told
    client.revoke_token(server["revocation_endpoint"], token=token["refresh_token"]).raise_for_status()
    assert httpx.get(f"{ORIGIN}/v1/whoami", headers={"authorization": f"Bearer {token['access_token']}"}).status_code == 401


run()
