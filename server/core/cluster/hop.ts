import type { CellName, StaffClaim } from './cells'

/** A node that owns a cell, as the cell's lease names it (ADR 45). */
export interface Peer {
  readonly cell: CellName
  readonly nodeId: string
  /** Its NODE_URL: an origin, without a trailing slash. */
  readonly url: string
  /** The number of its ownership. The owner refuses a hop that names another one. */
  readonly term: number
}

/** What the first node found out about a request, for the owner. */
export interface ForwardedCall {
  /** The caller's address as `formatAddress` writes it, judged by the node that the caller reached; `OPERATOR` for an operator's command. */
  readonly address: string
  readonly requestId: string
  /** An operator whom the gateway of `main` checked, and who stands in place of a session. */
  readonly staff?: StaffClaim | undefined
  /** Lets the caller's connection be silent for as long as the call takes, or no longer. */
  readonly allowSilence?: (isAllowed: boolean) => void
}

/** In place of an address: a command of a node's control socket. No caller has this address. */
export const OPERATOR = 'operator'

/** The header of a hop. Each node removes it from a request that did not come from another node. */
export const HOP_HEADER = 'x-gateway-hop'

/** Sends requests to the owner, each at most once. An adapter gets `findOwner` when it is made. */
export interface Forwarding {
  /**
   * The owner's response, streamed. If the owner cannot be connected to, or answers 421 (it owns nothing, and read nothing of the body), asks
   * `findOwner` once and sends the request there. Otherwise, and when that fails too, a 503 with Retry-After. Never rejects.
   */
  forward(request: Request, to: Peer, call: ForwardedCall): Promise<Response>
  /** The answer of this node and no other; null if the request did not reach it, or was not for it. Never rejects. */
  send(request: Request, to: Peer, call: ForwardedCall): Promise<Response | null>
  /** Resolves when no forwarded request is in progress, bodies of responses included. Aborts those that still run after `maxMs`. */
  ended(maxMs: number): Promise<void>
  /** Soon ends what still waits for an owner of this cell of an earlier term than this: it owns the cell no more, and may never answer. */
  abandon(cell: CellName, beforeTerm: number): void
  close(): Promise<void>
}

/** Who owns the same cell now that `after` does not: waits for a successor. Null when none came in time, or the caller hung up (`signal`). */
export type FindOwner = (after: Peer, signal: AbortSignal) => Promise<Peer | null>

/** What a valid hop header says of a request. */
export interface Hopped extends ForwardedCall {
  /** The cell whose owner is meant. */
  readonly cell: CellName
  readonly term: number
}

/** What is signed for one hop. */
export interface HopClaim extends Hopped {
  readonly method: string
  /** The path with the query, as it is sent. */
  readonly target: string
  /** How long the first node waits for the response to begin. */
  readonly deadlineMs?: number
}

/** Signs and verifies the header that says who forwards. It never says who calls: the owner authenticates the call itself. */
export interface HopSigner {
  /** The value of the header, good for one request. */
  sign(claim: HopClaim, now: number): string
  /** What the header says; null without the header; `forged` if it is of no valid key, of another request, or too old. */
  verified(request: Request, now: number): Hopped | 'forged' | null
}
