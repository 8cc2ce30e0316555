import type { TProperties } from '@sinclair/typebox'
import type { SocialOperationName } from '../../core/catalogue/operation'
import type { FailureCode } from '../../core/failure'
import { SCOPE_MEANINGS, SOCIAL_SCOPES } from '../../core/social/scopes'
import { KEY_FAILURES } from '../keys/key-failures'
import type { EndpointDocs, RouteDocs } from '../openapi/documented'
import {
  instant,
  type JsonSchema,
  listOf,
  oneOf,
  opaque,
  orNull,
  record,
  ref,
  text,
  whole,
  yesOrNo,
} from '../openapi/json-schema'
import { BODY_FAILURES, OWNER_FAILURES, WRITE_FAILURES } from '../openapi/owner-failures'

const PAGE =
  'https://social.example.com/authorize?response_type=code&client_id=gateway&scope=tweet.read%20users.read&state='
const STATE = 'nGt1D4rqBPc0c4JEzV0xgJXJH1H0tB8C9e9yJm8YxV4'
const ASKED = ['tweet.read', 'users.read', 'tweet.write', 'offline.access']

export const SOCIAL_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  SocialFollow: answer('Whether the linked account follows now.', {
    following: yesOrNo('It follows.'),
    pending_follow: yesOrNo('It waits for the other one to let it in.'),
  }),
  SocialUnfollow: answer('Whether the linked account follows now.', { following: yesOrNo('It follows.') }),
  SocialLike: answer('Whether the linked account likes the post now.', { liked: yesOrNo('It does.') }),
  SocialPost: answer(
    'The post.',
    {
      id: text('Its id.'),
      text: text('Its text as the network shows it.'),
      edit_history_tweet_ids: listOf(text('A name.'), 'Ids of its versions.'),
    },
    ['edit_history_tweet_ids'],
  ),
  SocialDelete: answer('Whether the post is gone.', { deleted: yesOrNo('It is.') }),
  SocialMessage: answer('The message.', {
    dm_conversation_id: text('Id of its thread.'),
    dm_event_id: text('Its id.'),
  }),
  SocialUser: answer(
    "A user, with the network's own members.",
    {
      id: text('Id.'),
      username: text('Name without the @.'),
      name: text('Shown name.'),
      created_at: instant('Joined at.'),
      description: text('What the user says of itself.'),
      protected: yesOrNo('Its posts are for followers only.'),
      verified: yesOrNo('The network vouches for it.'),
      public_metrics: opaque({ type: 'object', description: 'Counts of followers, followed, posts, lists.' }),
    },
    ['created_at', 'description', 'protected', 'verified', 'public_metrics'],
  ),
  SocialThreads: answer('Messages by thread.', {
    threads: listOf(
      record('A thread.', {
        dm_conversation_id: text('Its id.'),
        messages: listOf(
          record('A message.', {
            id: text('Its id.'),
            text: text('Its text.'),
            sender_id: text('Who wrote it.'),
            created_at: instant('Written at.'),
          }),
          'Newest first.',
        ),
      }),
      'The threads of these messages.',
    ),
    result_count: whole('How many messages there are: so many are paid for.', { minimum: 0 }),
    next_token: orNull(text('Goes on from here; null when there are no more.')),
  }),
  SocialLink: record('Where the user approves.', {
    auth_url: text('To be opened in the browser of the user whose account it is.', { format: 'uri' }),
    state: text('Keep it to tell which approval came back. The gateway checks it itself.'),
    expires_at: instant('When the address expires: ten minutes from now.'),
    scopes: listOf(text('A name.'), 'What is asked for, with what every call needs.'),
  }),
  SocialAccount: record('A key, and the social account that is linked to it.', {
    key: record('The key.', {
      id: text('Its id.'),
      name: text('Its name.'),
      prefix: text('How its secret begins.'),
      last4: text('How its secret ends.'),
    }),
    state: oneOf(['none', 'linked', 'expired', 'revoked'], '`revoked`: the network says that the user withdrew it.'),
    network: orNull(oneOf(['sandbox', 'x'], 'Where the account is.')),
    account: orNull(
      record('Whose account it is.', {
        id: text('Its id at the network.'),
        username: text('Its name without the @.'),
        name: text('Its shown name.'),
      }),
    ),
    scopes: listOf(text('A name.'), 'What the user granted.'),
    missing_scope: orNull(text('What a call lacked last.')),
    linked_at: orNull(instant('Linked at.')),
    refreshed_at: orNull(instant('Its tokens were renewed last at.')),
    link: orNull(
      record('The last try to link, unless it succeeded.', {
        id: text('Its id.'),
        state: oneOf(['waiting', 'expired', 'denied', 'failed', 'cancelled'], 'How it stands.'),
        scopes: listOf(text('A name.'), 'What it asks for.'),
        expires_at: instant('When it expires.'),
      }),
    ),
  }),
  SocialAccounts: record('The social accounts of all keys.', {
    network: orNull(oneOf(['sandbox', 'x'], 'The network that this gateway works with; null when none is set up.')),
    scopes: listOf(
      record('A permission.', { name: text('Its name.'), meaning: text('What it allows, in words.') }),
      'What can be asked for.',
    ),
    accounts: listOf(ref('SocialAccount'), 'One for each key; a replaced key stands with its successor.'),
  }),
  OneSocialAccount: record('One account.', { account: ref('SocialAccount') }),
  OwnerSocialLink: record('Where the user approves, for the dashboard.', {
    auth_url: text('To be opened in the browser of the user whose account it is.', { format: 'uri' }),
    state: text('The state that the network sends back.'),
    expires_at: instant('When the address expires.'),
    scopes: listOf(text('A name.'), 'What is asked for.'),
    link_id: text('Id of the try, to cancel it.'),
  }),
}

function answer<P extends TProperties, O extends keyof P & string = never>(
  description: string,
  members: P,
  optional: readonly O[] = [],
) {
  return record('A success.', { data: record(description, members, optional) })
}

const POST_ID = '1600000000000000'

/** What each social operation answers, by its name. */
export const SOCIAL_RESULTS: Readonly<
  Record<SocialOperationName, { readonly schema: JsonSchema; readonly example: unknown }>
> = {
  'social-follow': { schema: ref('SocialFollow'), example: { data: { following: true, pending_follow: false } } },
  'social-unfollow': { schema: ref('SocialUnfollow'), example: { data: { following: false } } },
  'social-like': { schema: ref('SocialLike'), example: { data: { liked: true } } },
  'social-unlike': { schema: ref('SocialLike'), example: { data: { liked: false } } },
  'social-post': { schema: ref('SocialPost'), example: { data: { id: POST_ID, text: 'Hello from my app' } } },
  'social-delete': { schema: ref('SocialDelete'), example: { data: { deleted: true } } },
  'social-dm': {
    schema: ref('SocialMessage'),
    example: { data: { dm_conversation_id: '1001-1002', dm_event_id: '1600000000000001' } },
  },
  'social-user': {
    schema: ref('SocialUser'),
    example: { data: { id: '1001', username: 'ada', name: 'Ada Lovelace' } },
  },
  'social-dm-threads': {
    schema: ref('SocialThreads'),
    example: {
      data: {
        threads: [
          {
            dm_conversation_id: '1001-1002',
            messages: [
              { id: '1600000000000001', text: 'Hello', sender_id: '1001', created_at: '2026-11-21T08:56:28.490Z' },
            ],
          },
        ],
        result_count: 1,
        next_token: null,
      },
    },
  },
}

/** What a call of a linked account can answer beside what any priced call can. */
export const SOCIAL_FAILURES: readonly FailureCode[] = [
  'missing_api_key',
  'insufficient_scope',
  'social_session_required',
]

const SCOPES = {
  ...listOf(
    oneOf(SOCIAL_SCOPES, SOCIAL_SCOPES.map((scope) => `\`${scope}\`: ${SCOPE_MEANINGS[scope]}`).join('. ')),
    'A narrower set. All seven when absent. `tweet.read` and `users.read` are always added, and `offline.access`.',
  ),
  minItems: 1,
}
const LINK_BODY = {
  type: 'object',
  properties: {
    scopes: SCOPES,
    key_id: text('With an access token: the API key to link to. A key links to itself, without it.'),
  },
  additionalProperties: false,
}
const LINK_EXAMPLE = {
  auth_url: PAGE + STATE,
  state: STATE,
  expires_at: '2026-11-21T09:06:28.490Z',
  scopes: ASKED,
}

const KEY_ID = 'key_01a1fdfa942070018c603d2632ddc21b'
const ACCOUNT_EXAMPLE = {
  key: { id: KEY_ID, name: 'My first key', prefix: 'gwk_3o', last4: 'UYRQ' },
  state: 'linked',
  network: 'sandbox',
  account: { id: '1001', username: 'ada', name: 'Ada Lovelace' },
  scopes: ['tweet.read', 'users.read', 'tweet.write'],
  missing_scope: null,
  linked_at: '2026-11-21T08:56:28.490Z',
  refreshed_at: null,
  link: null,
}
const KEY_PATH = { id: { description: 'Id of a key of yours.', example: KEY_ID } }

export const SOCIAL_LINK_DOCS: EndpointDocs = {
  id: 'authSocial',
  tag: 'Social',
  summary: 'Link a social account',
  description: [
    'Starts the linking of a social account to this key. Open `auth_url` in the browser of the user whose account it is; after the approval the browser comes back to `/apis/v1/social/oauth_callback`, to a page that names this account and key; the key can act once the user presses its button there, within ten minutes.',
    'Call it again to link another account, to ask for more scopes, or when a call answers 403 `social_session_required`: the new account takes the place of the old. Free.',
  ].join('\n\n'),
  body: {
    description: 'What to ask the user for. May be absent.',
    schema: LINK_BODY,
    required: false,
    examples: { narrow: { scopes: ['tweet.write'] }, all: {} },
  },
  answers: {
    200: { description: 'Where to approve.', schema: ref('SocialLink'), examples: { link: LINK_EXAMPLE } },
  },
  failures: [
    ...BODY_FAILURES,
    ...KEY_FAILURES,
    'insufficient_permissions',
    'insufficient_scope',
    'social_session_required',
    'upstream_unavailable',
  ],
}

export const OWNER_SOCIAL_DOCS = {
  list: {
    id: 'listSocialAccounts',
    tag: 'Social',
    summary: 'Social accounts of your keys',
    description: 'Each key with the social account that is linked to it, and how the last try to link one stands.',
    access: 'session',
    answers: {
      200: {
        description: 'All of them.',
        schema: ref('SocialAccounts'),
        examples: {
          one: {
            network: 'sandbox',
            scopes: SOCIAL_SCOPES.map((name) => ({ name, meaning: SCOPE_MEANINGS[name] })),
            accounts: [ACCOUNT_EXAMPLE],
          },
        },
      },
    },
    failures: OWNER_FAILURES,
  },
  start: {
    id: 'startSocialLink',
    tag: 'Social',
    summary: 'Link a social account to a key of yours',
    description: 'The same as `POST /apis/v1/social/auth_social` with that key, for who is signed in. Free.',
    access: 'session',
    body: {
      description: 'Which key, and what to ask for.',
      schema: {
        type: 'object',
        properties: { key_id: text('Id of a key of yours.'), scopes: SCOPES },
        required: ['key_id'],
        additionalProperties: false,
      },
      required: true,
      examples: { narrow: { key_id: KEY_ID, scopes: ['tweet.write'] } },
    },
    answers: {
      201: {
        description: 'Where to approve.',
        schema: ref('OwnerSocialLink'),
        examples: { link: { ...LINK_EXAMPLE, link_id: 'link_01a1fdfa942070018c603d2632ddc21c' } },
      },
    },
    failures: [...WRITE_FAILURES, ...BODY_FAILURES, 'resource_not_found', 'invalid_state', 'upstream_unavailable'],
  },
  unlink: {
    id: 'unlinkSocialAccount',
    tag: 'Social',
    summary: 'Unlink the account of a key',
    description:
      'The key acts as nobody any more, and its access is withdrawn at the network. A waiting link is cancelled. Free to repeat.',
    access: 'session',
    ids: KEY_PATH,
    answers: {
      200: {
        description: 'The key as it stands now.',
        schema: ref('OneSocialAccount'),
        examples: {
          none: {
            account: {
              ...ACCOUNT_EXAMPLE,
              state: 'none',
              network: null,
              account: null,
              scopes: [],
              linked_at: null,
            },
          },
        },
      },
    },
    failures: [...WRITE_FAILURES, 'resource_not_found'],
  },
} as const satisfies Record<string, RouteDocs>
