import type { Result } from '../result'
import type { NetworkName, SocialUser } from './session'

/** What the network's token endpoint gave. */
export interface Grant {
  readonly access: string
  readonly refresh: string | null
  readonly expiresInSeconds: number
  /** Space separated; null when the network did not say, which means: what was asked for (RFC 6749 5.1). */
  readonly scope: string | null
}

export interface AuthorizationRequest {
  readonly state: string
  readonly challenge: string
  /** With `offline.access` among them. */
  readonly scopes: readonly string[]
  readonly redirectUri: string
}

/** One thing that a linked account does or reads. `id`s are the network's own. */
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
      readonly most: number
      readonly pageToken: string | null
    }

/** Who acts: the linked account, with a token that is open. */
export interface Actor {
  readonly userId: string
  readonly accessToken: string
}

/** A success. `data` is what stands under `data` of the answer to the caller; `items` counts what is paid for each. */
export interface Done {
  readonly data: Readonly<Record<string, unknown>>
  readonly items?: number
}

/** Why the network gave no success. `reason` is for the log: no token, no text of a caller. */
export type NetworkFailure =
  /** It did not accept the access token: it is expired or withdrawn. Nothing was done. */
  | { readonly kind: 'token_refused'; readonly reason: string }
  /** About what the caller asked for; its body goes on as it came. Nothing was done. */
  | {
      readonly kind: 'refused'
      readonly reason: string
      readonly status: number
      readonly contentType: string
      readonly body: string
    }
  | { readonly kind: 'rate_limited'; readonly reason: string; readonly retryAfterSeconds: number }
  /** About the gateway's own credential, plan or credits with the network. Nothing was done. */
  | { readonly kind: 'about_us'; readonly reason: string }
  /** It could not be asked. Nothing was done. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** Asked, and no answer that tells the outcome: a write may have been done. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** Why there is no new grant. `dead`: the network will never give one for this code or token again. */
export interface GrantRefusal {
  readonly kind: 'dead' | 'unavailable' | 'unknown' | 'about_us'
  readonly reason: string
}

/**
 * A social network that apps act on. It never throws for what the network does. A write is sent once, whatever happens. It
 * obeys `signal` and has deadlines of its own.
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
  /** A refresh token works once: the pair that comes back must be kept before it is used. */
  refresh(refreshToken: string, signal: AbortSignal): Promise<Result<Grant, GrantRefusal>>
  /** Whether the network took it. */
  revoke(token: string, signal: AbortSignal): Promise<boolean>
  me(accessToken: string, signal: AbortSignal): Promise<Result<SocialUser, NetworkFailure>>
  act(actor: Actor, action: SocialAction, signal: AbortSignal): Promise<Result<Done, NetworkFailure>>
}
