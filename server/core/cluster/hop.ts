import type { CellName, StaffClaim } from './cells'

/** A node that owns a cell, as the cell's lease names it (ADR 45). */
export interface Peer {
  readonly cell: CellName
  readonly nodeId: string
  /** Its NODE_URL: an origin, without a trailing slash. */
  readonly url: string
  /** The number of its ownership. The owner refuses a hop with a different number. */
  readonly term: number
}

/** What the node that a caller reached determined about the request, for the owner. */
export interface ForwardedCall {
  /** The caller's address as `formatAddress` writes it, determined by the node that the caller reached; `OPERATOR` for an operator's command. */
  readonly address: string
  readonly requestId: string
  /** An operator whom the gateway of `main` authenticated. Replaces a session. */
  readonly staff?: StaffClaim | undefined
  /** Allows the caller's connection to be silent while the call runs, or ends that. */
  readonly allowSilence?: (isAllowed: boolean) => void
}

/** The address of a command from a node's control socket. No caller has it. */
export const OPERATOR = 'operator'

/** The header of a hop. Each node removes it from requests that did not come from another node. */
export const HOP_HEADER = 'x-gateway-hop'

/** Sends requests to the owner, each at most once. An adapter receives `findOwner` in its constructor. */
export interface Forwarding {
  /**
   * The owner's response, streamed. If the owner is unreachable or answers 421 (it is not the owner, and has not read the body), asks `findOwner` once
   * and sends the request there. Otherwise, and if that fails too, a 503 with Retry-After. Never rejects.
   */
  forward(request: Request, to: Peer, call: ForwardedCall): Promise<Response>
  /** The answer of exactly this node; null if the request did not reach it or it is not the owner. Never rejects. */
  send(request: Request, to: Peer, call: ForwardedCall): Promise<Response | null>
  /** Resolves when no forwarded request is in progress, response bodies included. Aborts those still running after `maxMs`. */
  ended(maxMs: number): Promise<void>
  /** Soon ends requests that wait for an owner of this cell with an earlier term: it no longer owns the cell, and may never answer. */
  abandon(cell: CellName, beforeTerm: number): void
  close(): Promise<void>
}

/** The owner of the same cell after `after`: waits for a successor. Null if none comes in time or the caller hangs up (`signal`). */
export type FindOwner = (after: Peer, signal: AbortSignal) => Promise<Peer | null>

/** What a valid hop header says about a request. */
export interface Hopped extends ForwardedCall {
  /** The cell whose owner should answer. */
  readonly cell: CellName
  readonly term: number
}

/** What is signed for one hop. */
export interface HopClaim extends Hopped {
  readonly method: string
  /** The path with the query, as sent. */
  readonly target: string
  /** How long the forwarding node waits for the response to begin. */
  readonly deadlineMs?: number
}

/** Signs and verifies the header that proves which node forwards. It does not prove who calls: the owner authenticates the call itself. */
export interface HopSigner {
  /** The value of the header, good for one request. */
  sign(claim: HopClaim, now: number): string
  /** The header's content; null without the header; `forged` if its key is not valid, it belongs to another request, or it is too old. */
  verified(request: Request, now: number): Hopped | 'forged' | null
}
