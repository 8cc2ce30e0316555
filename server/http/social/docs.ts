import type { SocialOperationName } from '../../core/catalog/operation'
import type { FailureCode } from '../../core/failure'
import { KEY_FAILURES } from '../keys/key-failures'
import { BODY_FAILURES } from '../openapi/body-failures'
import { type EndpointDocs, requestBody } from '../openapi/documented'
import type { JsonSchema } from '../openapi/json-schema'
import {
  NewOwnerSocialLink,
  NewSocialLink,
  OneSocialAccount,
  OwnerSocialLink,
  SocialAccounts,
  SocialLink,
} from './record'
import {
  SocialDelete,
  SocialFollow,
  SocialLike,
  SocialMessage,
  SocialPost,
  SocialThreads,
  SocialUnfollow,
  SocialUser,
} from './result-record'

const POST_ID = '1600000000000000'

/** The result of each social operation. */
export const SOCIAL_RESULTS: Readonly<
  Record<SocialOperationName, { readonly schema: JsonSchema; readonly example: unknown }>
> = {
  'social-follow': { schema: SocialFollow, example: { data: { following: true, pending_follow: false } } },
  'social-unfollow': { schema: SocialUnfollow, example: { data: { following: false } } },
  'social-like': { schema: SocialLike, example: { data: { liked: true } } },
  'social-unlike': { schema: SocialLike, example: { data: { liked: false } } },
  'social-post': { schema: SocialPost, example: { data: { id: POST_ID, text: 'Hello from my app' } } },
  'social-delete': { schema: SocialDelete, example: { data: { deleted: true } } },
  'social-dm': {
    schema: SocialMessage,
    example: { data: { dm_conversation_id: '1001-1002', dm_event_id: '1600000000000001' } },
  },
  'social-user': {
    schema: SocialUser,
    example: { data: { id: '1001', username: 'ada', name: 'Ada Lovelace' } },
  },
  'social-dm-threads': {
    schema: SocialThreads,
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

/** Failures of social operations, in addition to those of every priced call. */
export const SOCIAL_FAILURES: readonly FailureCode[] = [
  'missing_api_key',
  'insufficient_scope',
  'social_session_required',
]

const KEY_ID = 'key_01a1fdfa942070018c603d2632ddc21b'
const KEY_PATH = { id: { description: 'Id of one of your keys.', example: KEY_ID } }

export const SOCIAL_LINK_DOCS: EndpointDocs = {
  id: 'authSocial',
  tag: 'Social',
  summary: 'Link a social account',
  description: [
    'Starts linking a social account to this key. Open `auth_url` in the browser of the user whose account you link. After the approval, the browser returns to `/apis/v1/social/oauth_callback`, a page that names the account and the key. The user must confirm there within ten minutes; then the key can act.',
    'Call it again to link another account, to request more scopes, or when a call returns 403 `social_session_required`. The new account replaces the old one. Free.',
  ].join('\n\n'),
  body: {
    description: 'The scopes to request from the user. Optional.',
    schema: NewSocialLink,
    required: false,
    examples: { narrow: { scopes: ['tweet.write'] }, all: {} },
  },
  answers: { 200: { description: 'The approval page.', schema: SocialLink } },
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
    description: 'Each key with its linked social account and the status of the last attempt to link one.',
    answers: { 200: { description: 'A page of keys.', schema: SocialAccounts } },
    failures: ['invalid_parameter'],
  },
  start: {
    id: 'startSocialLink',
    tag: 'Social',
    summary: 'Link a social account to one of your keys',
    description: 'The same as `POST /apis/v1/social/auth_social` with that key, for the signed-in owner. Free.',
    body: requestBody('The key and the scopes to request.', NewOwnerSocialLink, {
      narrow: { key_id: KEY_ID, scopes: ['tweet.write'] },
    }),
    answers: { 201: { description: 'The approval page.', schema: OwnerSocialLink } },
    failures: [...BODY_FAILURES, 'resource_not_found', 'invalid_state', 'upstream_unavailable'],
  },
  unlink: {
    id: 'unlinkSocialAccount',
    tag: 'Social',
    summary: 'Unlink the account of a key',
    description:
      'Removes the linked account from the key and revokes its access at the network. A pending link is cancelled. Safe to repeat.',
    ids: KEY_PATH,
    answers: { 200: { description: 'The updated key.', schema: OneSocialAccount } },
    failures: ['resource_not_found'],
  },
} as const satisfies Record<string, EndpointDocs>
