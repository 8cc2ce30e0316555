/** What the rest of the service may know of an owner. */
export interface SignedUpUser {
  readonly id: string
  readonly email: string
  readonly name: string
}

/** A signed-in owner. */
export interface OwnerSession {
  readonly userId: string
  readonly email: string
  readonly name: string
  /** When this session signed in, in milliseconds. Using a session does not move it. */
  readonly sessionCreatedAt: number
}

/** Owners of accounts: sign-up, sign-in, sessions. Knows nothing of money, keys or tiers. */
export interface Identity {
  /**
   * Answers one request of the sign-in routes. `address` is the caller's true address (never one from the wire); null puts the
   * request in the one window that all unknown addresses share. Never throws; every refusal has the one error shape.
   */
  handle(request: Request, caller: { readonly address: string | null; readonly requestId: string }): Promise<Response>
  /** The session of these headers' cookie, read without a write; null for none or an ended one. Throws when the database cannot answer. */
  session(headers: Headers): Promise<OwnerSession | null>
  user(id: string): Promise<SignedUpUser | null>
  /** The OAuth server's own description (RFC 8414), of what is served and nothing else. */
  authorizationServer(): Promise<Readonly<Record<string, unknown>>>
  /** Users whose e-mail address or name holds `text`, in any letter case, the newest first. */
  search(text: string, limit: number): Promise<readonly SignedUpUser[]>
}
