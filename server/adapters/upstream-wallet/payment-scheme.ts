import { Challenge, Constants, Credential, Receipt } from 'mppx'
import { type Address, concat, type Hex, keccak256, slice, stringToHex, toHex } from 'viem'
import {
  type AskedPayment,
  authorizationText,
  type PaidHeader,
  paymentSecrets,
  type UpstreamPayment,
  type UpstreamWallet,
} from '../../core/apis/payments/upstream-payment'
import { isJson } from '../../core/json'

/** A larger header is not read. */
const MAX_HEADER = 16 * 1024
/** The headers that may carry a credential. A challenge could name any: one that the gateway sets itself, or the upstream's own. */
const CREDENTIAL_HEADERS = ['authorization', 'payment-authorization']

/** How the wallet pays what the `Payment` scheme asks for. */
export interface SchemeWallet {
  /** With its checksum. */
  readonly payer: Address
  /** The credential of a transfer on Tempo. */
  tempo(challenge: Challenge.Challenge, payment: UpstreamPayment): Promise<string>
}

/** The demands of a `WWW-Authenticate` in the `Payment` scheme: one-time charges by the methods `evm` and `tempo`. */
export function readPaymentChallenges(header: string, wallet: SchemeWallet): readonly AskedPayment[] {
  return challengesIn(header).map((challenge) => askedBy(challenge, wallet))
}

/** The transaction that a `Payment-Receipt` names, or null. */
export function readReceipt(header: string): string | null {
  if (header.length > MAX_HEADER) return null
  try {
    const { reference } = Receipt.deserialize(header)
    return /^0x[0-9a-fA-F]{64}$/.test(reference) ? reference : null
  } catch {
    return null
  }
}

/** None if one of them cannot be read: where the next begins is then a guess. */
function challengesIn(header: string): readonly Challenge.Challenge[] {
  if (header.length > MAX_HEADER) return []
  try {
    return Challenge.deserializeList(header)
  } catch {
    return []
  }
}

function askedBy(challenge: Challenge.Challenge, wallet: SchemeWallet): AskedPayment {
  const { method, realm, request, expires } = challenge
  const details = isJson(request['methodDetails']) ? request['methodDetails'] : {}
  const name = (challenge.header ?? Constants.Headers.authorization).toLowerCase()
  return {
    problem: CREDENTIAL_HEADERS.includes(name) ? problemOf(challenge, details) : 'another credential header',
    kind: method === 'tempo' ? 'tempo' : 'eip3009',
    chainId: details['chainId'],
    token: request['currency'],
    payee: request['recipient'],
    amount: request['amount'],
    lifeSeconds: expires === undefined ? Number.MAX_SAFE_INTEGER : (Date.parse(expires) - Date.now()) / 1000,
    nonce: method === 'tempo' ? memoOf(challenge) : challengeHash(challenge),
    isFor: (url) => realm === url.host || realm === url.hostname || realm === url.origin,
    async header(payment, signer): Promise<PaidHeader> {
      if (method === 'tempo') {
        const value = await wallet.tempo(challenge, payment)
        return { name, value, secrets: [value.slice('Payment '.length), transferIn(value)] }
      }
      const payload = await authorizationOf(payment, signer)
      const source = `did:pkh:eip155:${payment.chainId}:${wallet.payer}`
      const value = Credential.serialize({ challenge, payload, source })
      return { name, value, secrets: paymentSecrets(value.slice('Payment '.length), payload.signature) }
    },
  }
}

function problemOf({ method, intent }: Challenge.Challenge, details: Readonly<Record<string, unknown>>): string | null {
  if (intent !== 'charge' || (method !== 'evm' && method !== 'tempo')) return 'another payment method'
  // A part of the amount would go to payees of its own.
  if (details['splits'] !== undefined) return 'a payment in several parts'
  const ways = method === 'evm' ? details['credentialTypes'] : (details['supportedModes'] ?? ['pull'])
  const wanted = method === 'evm' ? 'authorization' : 'pull'
  return Array.isArray(ways) && ways.includes(wanted) ? null : 'another way to transfer'
}

/** The payload of an `evm` charge. It is ours and not the library's, whose signature would be valid until the challenge expires. */
async function authorizationOf(payment: UpstreamPayment, signer: Pick<UpstreamWallet, 'sign'>) {
  return { type: 'authorization', ...authorizationText(payment), signature: await signer.sign(payment) }
}

/** The nonce of an `evm` charge, which its challenge decides. */
function challengeHash({ id, realm }: Challenge.Challenge): Hex {
  return keccak256(stringToHex(`${id}${realm}`))
}

/** The memo of a `tempo` charge: a tag, a version, the realm, no client, the challenge. */
function memoOf({ id, realm }: Challenge.Challenge): Hex {
  const hash = (text: string, bytes: number) => slice(keccak256(stringToHex(text)), 0, bytes)
  return concat([hash('mpp', 4), toHex(1, { size: 1 }), hash(realm, 10), toHex(0, { size: 10 }), hash(id, 7)])
}

function transferIn(credential: string): string {
  return String(Reflect.get(Object(Credential.deserialize(credential).payload), 'signature'))
}
