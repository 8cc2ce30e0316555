import os

import requests
from eth_account import Account
from first_calls import ORIGIN, call, run
from x402 import x402ClientSync
from x402.http.clients.requests import x402_requests
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact.register import register_exact_evm_client

PAID = f"{ORIGIN}/apis/v1/websearch/images/search?q=otters"


def client():
    made = x402ClientSync()
    register_exact_evm_client(made, EthAccountSigner(Account.from_key(os.environ["PAYER_KEY"])))
    # A token of a test chain is on no list of known ones.
    made.set_spend_controls(False)
    return made


@call("pay one request, version 2")
def second_version():
    with x402_requests(client()) as session:
        answer = session.get(PAID)
        assert answer.status_code == 200, answer.text
        assert answer.headers["PAYMENT-RESPONSE"]


@call("pay one request, version 1")
def first_version():
    # The newer client reads version 1 from the body of a server that sends no header of version 2.
    from x402.http import x402HTTPClientSync

    asked = requests.get(PAID)
    payer = x402HTTPClientSync(client())
    offer = payer.get_payment_required_response(lambda name: None, asked.json())
    headers = payer.encode_payment_signature_header(payer.create_payment_payload(offer))
    answer = requests.get(PAID, headers=headers)
    assert answer.status_code == 200, answer.text


run()
