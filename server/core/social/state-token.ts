import { hash, randomBytes } from 'node:crypto'

/** The browser's proof that a callback belongs to a link that we began, and the code verifier of that link. */
export interface LinkSecrets {
  /** 256 random bits, base64url. Goes to the caller and into the address; we keep its hash. */
  readonly state: string
  readonly stateHash: string
  /** PKCE (RFC 7636): 256 random bits. Never leaves the gateway but to the network's token endpoint. */
  readonly verifier: string
  readonly challenge: string
}

/** Ten minutes (spec 3). */
export const LINK_LIFETIME_MS = 10 * 60 * 1000

export function newLinkSecrets(): LinkSecrets {
  const state = randomBytes(32).toString('base64url')
  const verifier = randomBytes(32).toString('base64url')
  return { state, stateHash: hashState(state), verifier, challenge: hash('sha256', verifier, 'base64url') }
}

/** SHA-256: the token has 256 random bits, so there is nothing to guess. */
export function hashState(state: string): string {
  return hash('sha256', state, 'hex')
}

/** What the browser holds that came back with the approval: 256 random bits, of which we keep the hash. */
export function newProof(): { readonly proof: string; readonly proofHash: string } {
  const proof = randomBytes(32).toString('base64url')
  return { proof, proofHash: hashState(proof) }
}

export function looksLikeState(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}
