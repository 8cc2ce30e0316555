/** A signed-in owner. */
export interface OwnerSession {
  readonly userId: string
  readonly email: string
  readonly name: string
  /** When this session signed in, in milliseconds. */
  readonly sessionCreatedAt: number
}

/** Owners of accounts: sign-up, sign-in, sessions. Knows nothing of money, keys or tiers. */
export interface Identity {
  /** Answers one request of the sign-in routes. Never throws; every refusal has the one error shape. */
  handle(request: Request, caller: { readonly address: string | null; readonly requestId: string }): Promise<Response>
  /** The session of these headers' cookie; null for none or an ended one. Throws when the database cannot answer. */
  session(headers: Headers): Promise<OwnerSession | null>
  user(id: string): Promise<{ readonly id: string; readonly email: string; readonly name: string } | null>
}
