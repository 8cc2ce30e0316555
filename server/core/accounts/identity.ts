/** What the rest of the service may know of an owner. */
export interface SignedUpUser {
  readonly id: string
  readonly email: string
  readonly name: string
}

/** A signed-in owner. */
export interface OwnerSession {
  readonly id: string
  readonly userId: string
  readonly email: string
  readonly name: string
  /** When this session signed in, in milliseconds. Using a session does not move it. */
  readonly sessionCreatedAt: number
}

/** One signed-in browser or script, as its owner sees it. */
export interface SessionLine {
  readonly id: string
  readonly signedInAt: number
  readonly address: string | null
  readonly userAgent: string | null
}

export interface EmailChange {
  readonly userId: string
  readonly from: string
  readonly to: string
  /** Whether the reader of the new address confirmed it. */
  readonly confirmed: boolean
}

/** What owners change about how they sign in. Ending a session tells whoever asked to be told at once. */
export interface IdentitySettings {
  rename(userId: string, name: string): Promise<void>
  /** `taken`: somebody else signs in with `to`. `stale`: the user no longer signs in with `from`. */
  changeEmail(change: EmailChange): Promise<'changed' | 'taken' | 'stale'>
  /** Sessions that have not run out, the latest first. */
  sessions(userId: string): Promise<readonly SessionLine[]>
  /** Ends these sessions of the user; gives how many there were. */
  endSessions(userId: string, which: { readonly only: string } | { readonly allBut: string }): Promise<number>
  /** Takes the name, the address, the password and every session away, for good. `email` stands in for the address. */
  forget(userId: string, email: string): Promise<void>
  /** A token that sets a new password, for an operator to hand on; null when nobody signs in with the address. */
  resetToken(email: string): Promise<string | null>
}

/** Who sends a request to the sign-in routes. */
export interface IdentityCaller {
  /** The true address, never one from the wire; null puts the request in the one window that all unknown addresses share. */
  readonly address: string | null
  readonly requestId: string
  /** Whether the request was made on this machine and came past no proxy. */
  readonly isFromThisMachine: boolean
}

/** Owners of accounts: sign-up, sign-in, sessions. Knows nothing of money, keys or tiers. */
export interface Identity extends IdentitySettings {
  /** Answers one request of the sign-in routes. Never throws; every refusal has the one error shape. */
  handle(request: Request, caller: IdentityCaller): Promise<Response>
  /** The session of these headers' cookie, read without a write; null for none or an ended one. Throws when the database cannot answer. */
  session(headers: Headers): Promise<OwnerSession | null>
  user(id: string): Promise<SignedUpUser | null>
  /** Who signs in with this address, in any letter case, and whether its reader confirmed it. */
  userByEmail(email: string): Promise<(SignedUpUser & { readonly emailConfirmed: boolean }) | null>
  /** The OAuth server's own description (RFC 8414), of what is served and nothing else. */
  authorizationServer(): Promise<Readonly<Record<string, unknown>>>
  /** Users whose e-mail address or name holds `text`, in any letter case, the newest first. */
  search(text: string, limit: number): Promise<readonly SignedUpUser[]>
}
