import { micros } from '../money'
import { holdsAddress } from './address-in-text'
import type { Operation } from './operation'
import type { ParameterTable, TextRule } from './parameters'

/** Enough for a renewal, a call, and both once more after a refused token; each has 10 s. */
const TIMEOUT_MS = 60_000

const BASE = { takesConcurrency: false, timeoutMs: TIMEOUT_MS, unit: 'request' } as const
const WRITE = { ...BASE, methods: ['POST'], effect: 'write' } as const
const READ = { ...BASE, methods: ['GET'] } as const

/** An id as the network gives it: 1 to 19 digits. */
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

/** Which key's account acts, for a caller that has no key of its own. */
const WHOSE = {
  key_id: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 60,
    pattern: { source: /^key_[0-9a-f]{32}$/, rule: 'must be the id of an API key of the account' },
    description: 'With an access token: the API key whose linked account acts. A key acts for itself, without it.',
  },
} as const satisfies ParameterTable

/** Ids that the documents show. */
const USER = '1002'
const POST = '1600000000000000'

const FOLLOW = {
  ...WHOSE,
  target_user_id: { ...id('Whom. Follow yourself is refused by the network.', USER), required: true },
} as const
const LIKE = { ...WHOSE, tweet_id: { ...id('Which post.', POST), required: true } } as const
const WRITE_POST = {
  content: {
    in: 'query',
    kind: 'text',
    required: true,
    min: 1,
    max: 25_000,
    description: 'The text. The network has its own, shorter limit for most accounts.',
    example: 'Hello from my app',
  },
  in_reply_to_tweet_id: id('Makes it a reply to this post.', POST),
  quote_tweet_id: id('Makes it a quote of this post.', POST),
  ...WHOSE,
} as const satisfies ParameterTable
const MESSAGE = {
  recipient_id: { ...id('To whom.', USER), required: true },
  text: {
    in: 'query',
    kind: 'text',
    required: true,
    min: 1,
    max: 10_000,
    description: 'The text.',
    example: 'Hello',
  },
  ...WHOSE,
} as const satisfies ParameterTable
const USER_LOOKUP = {
  username: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 15,
    pattern: { source: /^[A-Za-z0-9_]{1,15}$/, rule: 'must be a name of 1 to 15 letters, digits or _, without the @' },
    description: 'Name of the user, without the @. Without `username` and `id`: the linked account.',
    example: 'grace',
  },
  id: id('Id of the user, where no `username` is given.', USER),
  ...WHOSE,
} as const satisfies ParameterTable
const THREADS = {
  participant_id: id('Only the thread with this user.', USER),
  count: {
    in: 'query',
    kind: 'integer',
    min: 1,
    max: 100,
    default: 20,
    description: 'Most messages to return; each returned one is paid for.',
  },
  next_token: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 200,
    pattern: { source: /^[\w.:=-]+$/, rule: 'must be the next_token of an answer' },
    description: 'Goes on where an answer with this `next_token` ended.',
  },
  ...WHOSE,
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
  description: 'The linked account follows a user no longer.',
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
  title: 'Take a like back',
  description: 'The linked account takes its like of a post back.',
  path: '/apis/v1/social/unlike_social',
  parameters: LIKE,
  price: micros(10_000),
  example: { tweet_id: POST },
}

/** The price of a post that holds an address; the operation's own is of one without. */
export const POST_WITH_ADDRESS_PRICE = micros(200_000)

export const SOCIAL_POST: Operation<typeof WRITE_POST> = {
  ...WRITE,
  name: 'social-post',
  title: 'Post, reply or quote',
  description:
    'The linked account posts. A post whose text holds a web address (`https://...`, or a name such as `example.com`) costs 0.2 USD.',
  path: '/apis/v1/social/post_social',
  parameters: WRITE_POST,
  price: micros(15_000),
  metering: {
    priceName: ({ content }) => (holdsAddress(content) ? 'social-post-with-address' : 'social-post'),
    mostUnits: () => 1,
  },
  example: { content: 'Hello from my app' },
}

export const SOCIAL_DELETE: Operation<typeof LIKE> = {
  ...WRITE,
  name: 'social-delete',
  title: 'Delete a post',
  description: 'The linked account deletes a post of its own.',
  path: '/apis/v1/social/delete_social',
  parameters: LIKE,
  price: micros(10_000),
  example: { tweet_id: POST },
}

export const SOCIAL_DM: Operation<typeof MESSAGE> = {
  ...WRITE,
  name: 'social-dm',
  title: 'Send a direct message',
  description: 'The linked account sends a message to a user.',
  path: '/apis/v1/social/dm_social',
  parameters: MESSAGE,
  price: micros(15_000),
  example: { recipient_id: USER, text: 'Hello' },
}

export const SOCIAL_USER: Operation<typeof USER_LOOKUP> = {
  ...READ,
  name: 'social-user',
  title: 'Read a profile',
  description: 'Finds a user by name or id; without either it is the linked account.',
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
    'The messages of the linked account, newest first, put together by thread. The price is of each message returned; what `count` could return is held.',
  path: '/apis/v1/social/dm_threads_social',
  parameters: THREADS,
  price: micros(10_000),
  unit: 'message',
  metering: { priceName: () => 'social-dm-threads', mostUnits: ({ count }) => count },
  example: {},
}
