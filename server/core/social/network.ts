import type { Result } from '../result'
import type { NetworkName, SocialUser } from './session'

/** A response of the network's token endpoint. */
export interface Grant {
  readonly access: string
  readonly refresh: string | null
  readonly expiresInSeconds: number
  /** Separated by spaces. Null when absent, which means the requested scopes (RFC 6749 5.1). */
  readonly scope: string | null
}

export interface AuthorizationRequest {
  readonly state: string
  readonly challenge: string
  /** Includes `offline.access`. */
  readonly scopes: readonly string[]
  readonly redirectUri: string
}

/** An action or read of a linked account. Ids are the network's own. */
export type SocialAction =
  | { readonly kind: 'follow' | 'unfollow'; readonly targetUserId: string }
  | { readonly kind: 'like' | 'unlike' | 'delete'; readonly tweetId: string }
  | {
      readonly kind: 'post'
      readonly text: string
      readonly inReplyToTweetId: string | null
      readonly quoteTweetId: string | null
    }
  | { readonly kind: 'dm'; readonly recipientId: string; readonly text: string }
  | { readonly kind: 'user'; readonly by: 'id' | 'username'; readonly value: string }
  | {
      readonly kind: 'messages'
      readonly withUserId: string | null
      readonly max: number
      readonly pageToken: string | null
    }

/** The linked account that acts, with its decrypted token. */
export interface ActingAccount {
  readonly userId: string
  readonly accessToken: string
}

/** A success. `data` becomes the `data` of the caller's response. `items` is the number of items to charge. */
export interface Done {
  readonly data: Readonly<Record<string, unknown>>
  readonly items?: number
}

/** Why a request to the network failed. `reason` is for the log and contains neither tokens nor a caller's text. */
export type NetworkFailure =
  /** The access token is expired or withdrawn. Nothing was done. */
  | { readonly kind: 'token_refused'; readonly reason: string }
  /** The caller's request was refused. The body is forwarded unchanged. Nothing was done. */
  | {
      readonly kind: 'refused'
      readonly reason: string
      readonly status: number
      readonly contentType: string
      readonly body: string
    }
  | { readonly kind: 'rate_limited'; readonly reason: string; readonly retryAfterSeconds: number }
  /** A problem with the gateway's own credential, plan or credits. Nothing was done. */
  | { readonly kind: 'about_us'; readonly reason: string }
  /** The network could not be reached. Nothing was done. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** The request was sent, but its outcome is unknown. A write may have taken effect. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** Why there is no new grant. `dead`: the network will never accept this code or token again. */
export interface GrantRefusal {
  readonly kind: 'dead' | 'unavailable' | 'unknown' | 'about_us'
  readonly reason: string
}

/**
 * A social network. Never throws for errors of the network. Never repeats a write. Obeys `signal` and has its own deadlines.
 */
export interface SocialNetwork {
  readonly name: NetworkName
  authorizeUrl(request: AuthorizationRequest): string
  exchange(
    code: string,
    verifier: string,
    redirectUri: string,
    signal: AbortSignal,
  ): Promise<Result<Grant, GrantRefusal>>
  /** A refresh token works once, so the returned tokens must be saved before they are used. */
  refresh(refreshToken: string, signal: AbortSignal): Promise<Result<Grant, GrantRefusal>>
  /** Returns whether the network accepted the revocation. */
  revoke(token: string, signal: AbortSignal): Promise<boolean>
  me(accessToken: string, signal: AbortSignal): Promise<Result<SocialUser, NetworkFailure>>
  act(actor: ActingAccount, action: SocialAction, signal: AbortSignal): Promise<Result<Done, NetworkFailure>>
}
