import { MINUTE_MS } from '../clock'
import { micros } from '../money'
import { holdsAddress } from './address-in-text'
import type { Operation } from './operation'
import type { ParameterTable, TextRule } from './parameters'

/** Enough for a token refresh and a call, each twice in case the token is refused; each takes up to 10 s. */
const TIMEOUT_MS = MINUTE_MS

const BASE = { takesConcurrency: false, timeoutMs: TIMEOUT_MS, unit: 'request', scope: 'social:write' } as const
const WRITE = { ...BASE, methods: ['POST'], effect: 'write' } as const
const READ = { ...BASE, methods: ['GET'] } as const

/** An id of the network: 1 to 19 digits. */
function id(description: string, example: string) {
  return {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 19,
    pattern: { source: /^[0-9]{1,19}$/, rule: 'must be an id of 1 to 19 digits' },
    description,
    example,
  } as const satisfies TextRule
}

/** Selects the key whose linked account acts, for callers that use an access token. */
const ACTING_KEY = {
  key_id: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 60,
    pattern: { source: /^key_[0-9a-f]{32}$/, rule: 'must be the id of an API key of the account' },
    description:
      'The API key whose linked account acts. Only used with an access token; an API key always acts for itself.',
  },
} as const satisfies ParameterTable

/** Example ids for the documentation. */
const USER = '1002'
const POST = '1600000000000000'

const FOLLOW = {
  ...ACTING_KEY,
  target_user_id: { ...id('The user. The network refuses to let you follow yourself.', USER), required: true },
} as const
const LIKE = { ...ACTING_KEY, tweet_id: { ...id('The post.', POST), required: true } } as const
const WRITE_POST = {
  content: {
    in: 'query',
    kind: 'text',
    required: true,
    min: 1,
    max: 25_000,
    description: 'The text of the post. The network has a shorter limit for most accounts.',
    example: 'Hello from my app',
  },
  in_reply_to_tweet_id: id('Replies to this post.', POST),
  quote_tweet_id: id('Quotes this post.', POST),
  ...ACTING_KEY,
} as const satisfies ParameterTable
const MESSAGE = {
  recipient_id: { ...id('The recipient.', USER), required: true },
  text: {
    in: 'query',
    kind: 'text',
    required: true,
    min: 1,
    max: 10_000,
    description: 'The text of the message.',
    example: 'Hello',
  },
  ...ACTING_KEY,
} as const satisfies ParameterTable
const USER_LOOKUP = {
  username: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 15,
    pattern: { source: /^[A-Za-z0-9_]{1,15}$/, rule: 'must be a name of 1 to 15 letters, digits or _, without the @' },
    description: "The user's name, without the @. Defaults to the linked account if `id` is absent too.",
    example: 'grace',
  },
  id: id("The user's id. Used if `username` is absent.", USER),
  ...ACTING_KEY,
} as const satisfies ParameterTable
const THREADS = {
  participant_id: id('Returns only the thread with this user.', USER),
  count: {
    in: 'query',
    kind: 'integer',
    min: 1,
    max: 100,
    default: 20,
    description: 'Maximum number of messages. Each returned message is charged.',
  },
  next_token: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 200,
    pattern: { source: /^[\w.:=-]+$/, rule: 'must be the next_token of a response' },
    description: 'Continues after the response with this `next_token`.',
  },
  ...ACTING_KEY,
} as const satisfies ParameterTable

export const SOCIAL_FOLLOW: Operation<typeof FOLLOW> = {
  ...WRITE,
  name: 'social-follow',
  title: 'Follow a user',
  description: 'The linked account follows a user. Following again changes nothing and succeeds.',
  path: '/apis/v1/social/follow_social',
  parameters: FOLLOW,
  price: micros(15_000),
  example: { target_user_id: USER },
}

export const SOCIAL_UNFOLLOW: Operation<typeof FOLLOW> = {
  ...WRITE,
  name: 'social-unfollow',
  title: 'Unfollow a user',
  description: 'The linked account stops following a user.',
  path: '/apis/v1/social/unfollow_social',
  parameters: FOLLOW,
  price: micros(10_000),
  example: { target_user_id: USER },
}

export const SOCIAL_LIKE: Operation<typeof LIKE> = {
  ...WRITE,
  name: 'social-like',
  title: 'Like a post',
  description: 'The linked account likes a post. Liking again changes nothing and succeeds.',
  path: '/apis/v1/social/like_social',
  parameters: LIKE,
  price: micros(15_000),
  example: { tweet_id: POST },
}

export const SOCIAL_UNLIKE: Operation<typeof LIKE> = {
  ...WRITE,
  name: 'social-unlike',
  title: 'Unlike a post',
  description: 'The linked account removes its like from a post.',
  path: '/apis/v1/social/unlike_social',
  parameters: LIKE,
  price: micros(10_000),
  example: { tweet_id: POST },
}

/** The price of a post with a link. The operation's base price is for posts without one. */
export const POST_WITH_ADDRESS_PRICE = micros(200_000)

export const SOCIAL_POST: Operation<typeof WRITE_POST> = {
  ...WRITE,
  name: 'social-post',
  title: 'Post, reply or quote',
  description:
    'The linked account posts. A post that contains a link (`https://...` or a name such as `example.com`) costs 0.2 USD.',
  path: '/apis/v1/social/post_social',
  parameters: WRITE_POST,
  price: micros(15_000),
  metering: {
    priceName: ({ content }) => (holdsAddress(content) ? 'social-post-with-address' : 'social-post'),
    maxUnits: () => 1,
  },
  example: { content: 'Hello from my app' },
}

export const SOCIAL_DELETE: Operation<typeof LIKE> = {
  ...WRITE,
  name: 'social-delete',
  title: 'Delete a post',
  description: 'The linked account deletes one of its posts.',
  path: '/apis/v1/social/delete_social',
  parameters: LIKE,
  price: micros(10_000),
  example: { tweet_id: POST },
}

export const SOCIAL_DM: Operation<typeof MESSAGE> = {
  ...WRITE,
  name: 'social-dm',
  title: 'Send a direct message',
  description: 'The linked account sends a direct message to a user.',
  path: '/apis/v1/social/dm_social',
  parameters: MESSAGE,
  price: micros(15_000),
  example: { recipient_id: USER, text: 'Hello' },
}

export const SOCIAL_USER: Operation<typeof USER_LOOKUP> = {
  ...READ,
  name: 'social-user',
  title: 'Read a profile',
  description: 'Looks up a user by name or id, or the linked account if neither is given.',
  path: '/apis/v1/social/user_social',
  parameters: USER_LOOKUP,
  price: micros(10_000),
  example: {},
}

export const SOCIAL_DM_THREADS: Operation<typeof THREADS> = {
  ...READ,
  name: 'social-dm-threads',
  title: 'Read direct messages',
  description:
    'Returns the direct messages of the linked account, newest first, grouped by thread. Each returned message is charged; the price of `count` messages is held until then.',
  path: '/apis/v1/social/dm_threads_social',
  parameters: THREADS,
  price: micros(10_000),
  unit: 'message',
  metering: { priceName: () => 'social-dm-threads', maxUnits: ({ count }) => count },
  example: {},
}
