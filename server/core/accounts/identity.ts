import type { AccountId } from '../ids'
import type { Result } from '../result'
import type { Role } from './roles'

/** An owner as the rest of the service sees it. */
export interface SignedUpUser {
  readonly id: string
  readonly email: string
  readonly name: string
}

/** The users who need a second factor for actions that need a recent sign-in. Owners who have one always must. */
export type SecondFactorPolicy = 'nobody' | 'operators' | 'all'

/** A signed-in owner. */
export interface OwnerSession {
  readonly id: string
  readonly userId: string
  readonly email: string
  readonly name: string
  /** When the owner signed in, in milliseconds. Using the session does not change it. */
  readonly sessionCreatedAt: number
  /** Whether this sign-in included a second factor. */
  readonly secondFactor: boolean
  /** The workspace that it shows; null for the user's own. The user may have left it. */
  readonly workspace: AccountId | null
}

/** What an invitation says to who has its secret. */
export interface ReadInvitation {
  readonly accountId: AccountId
  readonly email: string
  readonly role: Role
  readonly invitedBy: string
  readonly expiresAt: number
}

/**
 * Changes of who belongs to a workspace, by the user of the session in `headers`, whose right to it the caller has checked. A failure says why; one
 * that is not listed is thrown. `MemberStore.changed` must follow.
 */
export interface WorkspaceChanges {
  /** The secret of a new invitation, which nothing keeps. */
  invite(
    headers: Headers,
    to: { readonly accountId: AccountId; readonly email: string; readonly role: Role },
  ): Promise<Result<string, InviteRefusal>>
  /** The invitation with this secret, if it can still be accepted. */
  invitation(secret: string): Promise<ReadInvitation | null>
  accept(headers: Headers, secret: string): Promise<Result<AccountId, AcceptRefusal>>
  setRole(
    headers: Headers,
    member: { readonly accountId: AccountId; readonly id: string; readonly role: Role },
  ): Promise<void>
  /** `isSelf`: the user leaves. */
  remove(
    headers: Headers,
    member: { readonly accountId: AccountId; readonly id: string; readonly isSelf: boolean },
  ): Promise<void>
  /** The workspace that the session shows from now on. */
  show(sessionId: string, accountId: AccountId): Promise<void>
}
export type InviteRefusal = 'already_member' | 'too_many_invitations' | 'invalid_email'
export type AcceptRefusal = 'unknown' | 'other_address' | 'unconfirmed' | 'already_member' | 'too_many_members'

/** One signed-in browser or script, as its owner sees it. */
export interface SessionLine {
  readonly id: string
  readonly signedInAt: number
  /** To the minute; null if it was never used. */
  readonly lastSeenAt: number | null
  readonly secondFactor: boolean
  readonly address: string | null
  readonly userAgent: string | null
}

export interface EmailChange {
  readonly userId: string
  readonly from: string
  readonly to: string
  /** Whether the owner confirmed the new address by a link sent to it. */
  readonly confirmed: boolean
}

/** The second factors of an owner. */
export interface SecondFactors {
  /** An authenticator app. */
  readonly app: boolean
  /** Recovery codes that were not used yet. */
  readonly recoveryCodes: number
  readonly passkeys: number
}

/** An identity at a provider, which signs in without the password. */
export interface LinkedIdentity {
  readonly id: string
  /** The provider's id. */
  readonly provider: string
  readonly linkedAt: number
}

/** Sessions of one user. */
export type SessionChoice = { readonly only: string } | { readonly allBut: string } | { readonly all: true }

/** How owners manage their sign-in. Listeners hear about an ended session at once. */
export interface IdentitySettings {
  rename(userId: string, name: string): Promise<void>
  /** `taken`: another user signs in with `to`. `stale`: the user no longer signs in with `from`. */
  changeEmail(change: EmailChange): Promise<'changed' | 'taken' | 'stale'>
  /** Marks the address as confirmed. Returns false if the user no longer signs in with it. */
  confirmEmail(userId: string, email: string): Promise<boolean>
  /** Tells the user's passwords apart without revealing them. Null for a user without a password. */
  passwordMark(userId: string): Promise<string | null>
  /** The identities linked to the user, oldest first. */
  identities(userId: string): Promise<readonly LinkedIdentity[]>
  /** Removes one in one step. `last`: without it the user could not sign in; nothing changes. */
  unlinkIdentity(userId: string, id: string): Promise<'unlinked' | 'unknown' | 'last'>
  /** Active sessions, newest first. */
  sessions(userId: string): Promise<readonly SessionLine[]>
  /** Ends sessions of the user and returns how many there were. */
  endSessions(userId: string, which: SessionChoice): Promise<number>
  secondFactors(userId: string): Promise<SecondFactors>
  /** Removes the authenticator app, recovery codes and passkeys, and ends all sessions. Returns whether there was any factor. */
  resetSecondFactors(userId: string): Promise<boolean>
  /** Permanently deletes the user's name, password and sessions, and replaces the email address with `email`. */
  forget(userId: string, email: string): Promise<void>
  /** A token that sets a new password, for an operator to pass on. Null when no user has this address. */
  resetToken(email: string): Promise<string | null>
}

/** The sender of a request to the sign-in routes. */
export interface IdentityCaller {
  /** The verified client address, never one that a client claims. Requests without one share a single rate window. */
  readonly address: string | null
  readonly requestId: string
  /** Whether the request was made on this machine and not through a proxy. */
  readonly isFromThisMachine: boolean
}

/** Owners of accounts: sign-up, sign-in, sessions. Knows nothing of money, keys or tiers. */
export interface Identity extends IdentitySettings {
  readonly workspaces: WorkspaceChanges
  /** Handles a request to the sign-in routes. Never throws. Every error has the gateway's error shape. */
  handle(request: Request, caller: IdentityCaller): Promise<Response>
  /** The session of the cookie in these headers, or null if there is none. Never writes. Throws when the database is unavailable. */
  session(headers: Headers): Promise<OwnerSession | null>
  user(id: string): Promise<SignedUpUser | null>
  /** The user with this address, in any letter case, and whether the address is confirmed. */
  userByEmail(email: string): Promise<(SignedUpUser & { readonly emailConfirmed: boolean }) | null>
  /** The OAuth server's metadata (RFC 8414), limited to what this gateway serves. */
  authorizationServer(): Promise<Readonly<Record<string, unknown>>>
}
