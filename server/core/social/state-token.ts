import { hash, randomBytes } from 'node:crypto'
import { MINUTE_MS } from '../clock'

/** The state, which proves that a callback belongs to a link of ours, and the link's PKCE code verifier. */
export interface LinkSecrets {
  /** 256 random bits in base64url. Given to the caller and put into the URL; only its hash is stored. */
  readonly state: string
  readonly stateHash: string
  /** PKCE (RFC 7636): 256 random bits. Sent only to the network's token endpoint. */
  readonly verifier: string
  readonly challenge: string
}

/** Ten minutes (spec 3). */
export const LINK_LIFETIME_MS = 10 * MINUTE_MS

export function newLinkSecrets(): LinkSecrets {
  const state = randomBytes(32).toString('base64url')
  const verifier = randomBytes(32).toString('base64url')
  return { state, stateHash: hashState(state), verifier, challenge: hash('sha256', verifier, 'base64url') }
}

/** A plain SHA-256 is enough, because 256 random bits cannot be guessed. */
export function hashState(state: string): string {
  return hash('sha256', state, 'hex')
}

/** The proof for the browser that returned with an approval: 256 random bits, of which only the hash is stored. */
export function newProof(): { readonly proof: string; readonly proofHash: string } {
  const proof = randomBytes(32).toString('base64url')
  return { proof, proofHash: hashState(proof) }
}

export function looksLikeState(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}
