import { BODY_FAILURES } from '../openapi/body-failures'
import { type EndpointDocs, fileAnswer, requestBody } from '../openapi/documented'
import { KeyHistory, KeyNames } from './key-history'
import { KEYS_CSV_HEAD } from './keys-csv'
import { DisabledKeys, KeyChange, KeyPage, KeysToDisable, KeyWithSecret, NewKey, OneKey, Rotation } from './record'

const KEY_ID = 'key_01a1fdfa942070018c603d2632ddc21b'
const ID = { id: { description: 'Id of one of your keys.', example: KEY_ID } }
const CHANGED = {
  200: { description: 'The updated key.', schema: OneKey },
}
const CREATED = {
  201: { description: 'The key and its secret.', schema: KeyWithSecret },
}
const TAKES_EFFECT = 'Takes effect for every request that starts after this call returns.'

export const KEY_DOCS = {
  list: {
    id: 'listKeys',
    tag: 'Keys',
    summary: 'List keys',
    description:
      'Your keys, newest first by default. Revoked keys are listed only with `status=revoked`. `counts` covers all keys that match `q` and `tag`.',
    answers: { 200: { description: 'A page of keys.', schema: KeyPage } },
    failures: ['invalid_parameter'],
  },
  create: {
    id: 'createKey',
    tag: 'Keys',
    summary: 'Create a key',
    description: 'Creates a key. This response contains its secret, which is never shown again.',
    body: requestBody('The settings of the key.', NewKey, {
      limited: { name: 'My first key', spending_limit: 1 },
      restricted: {
        name: 'Production server',
        spending_limit: 25,
        allowed_ips: ['203.0.113.7', '2001:db8::/32'],
        allowed_endpoints: ['image-search'],
        rpm_limit: 30,
        tags: ['production', 'team-search'],
        budget: { limit_usd: 5, period: 'day', timezone: 'Europe/Berlin' },
      },
    }),
    answers: CREATED,
    failures: ['missing_parameter', 'limit_reached', ...BODY_FAILURES],
  },
  names: {
    id: 'listKeyNames',
    tag: 'Keys',
    summary: 'Names of keys and apps',
    description:
      'The names of the newest 10,000 keys and of all connected apps you ever had, to resolve the ids in reports.',
    answers: { 200: { description: 'Every key and app.', schema: KeyNames } },
    failures: [],
  },
  history: {
    id: 'keyHistory',
    tag: 'Keys',
    summary: 'History of a key',
    description: 'The changes made to a key, newest first: when, by whom and from which IP address.',
    ids: ID,
    answers: { 200: { description: 'A page of changes.', schema: KeyHistory } },
    failures: ['invalid_parameter', 'resource_not_found'],
  },
  csv: {
    id: 'keysCsv',
    tag: 'Keys',
    summary: 'Keys as CSV',
    description:
      'All keys that match, in one file, with their settings and what they have spent. Times are in UTC, amounts in US dollars. Contains no secrets.',
    answers: { 200: fileAnswer('text/csv', `${KEYS_CSV_HEAD.join(',')}\r\n`) },
    failures: ['invalid_parameter'],
  },
  get: {
    id: 'getKey',
    tag: 'Keys',
    summary: 'Get a key',
    description: 'The current state of one key, with what it has spent.',
    ids: ID,
    answers: CHANGED,
    failures: ['resource_not_found'],
  },
  change: {
    id: 'changeKey',
    tag: 'Keys',
    summary: 'Change a key',
    description: `Changes the settings you send and leaves the others unchanged. Raising the limit of an exhausted key reactivates it immediately; lowering the limit below what the key has spent stops it immediately. ${TAKES_EFFECT}`,
    ids: ID,
    body: requestBody('The settings to change.', KeyChange, {
      raise: { spending_limit: 5 },
      rename: { name: 'Staging server', allowed_ips: [] },
    }),
    answers: CHANGED,
    failures: ['resource_not_found', 'invalid_state', ...BODY_FAILURES],
  },
  rotate: {
    id: 'rotateKey',
    tag: 'Keys',
    summary: 'Rotate a key',
    description:
      'Creates a successor with the same settings, limit and spent amount. The old key works until its grace period ends, then it is revoked.',
    ids: ID,
    body: {
      description: 'How long the old key keeps working. Defaults to one day.',
      schema: Rotation,
      required: false,
      examples: { hour: { grace_period_seconds: 3600 }, leaked: { grace_period_seconds: 0 } },
    },
    answers: CREATED,
    failures: ['resource_not_found', 'invalid_state', 'limit_reached', ...BODY_FAILURES],
  },
  disable: {
    id: 'disableKey',
    tag: 'Keys',
    summary: 'Disable a key',
    description: `Disables a key. Safe to repeat. ${TAKES_EFFECT}`,
    ids: ID,
    answers: CHANGED,
    failures: ['resource_not_found', 'invalid_state'],
  },
  disableMany: {
    id: 'disableKeys',
    tag: 'Keys',
    summary: 'Disable several keys',
    description: `Disables up to 1,000 keys in one step. A key that cannot be disabled has an \`error\` and does not stop the others. Safe to repeat. ${TAKES_EFFECT}`,
    body: requestBody('The keys to disable.', KeysToDisable, { one: { ids: [KEY_ID] } }),
    answers: { 200: { description: 'The result for each key.', schema: DisabledKeys } },
    failures: ['missing_parameter', ...BODY_FAILURES],
  },
  enable: {
    id: 'enableKey',
    tag: 'Keys',
    summary: 'Enable a key',
    description: 'Enables a disabled key. Safe to repeat.',
    ids: ID,
    answers: CHANGED,
    failures: ['resource_not_found', 'invalid_state'],
  },
  revoke: {
    id: 'revokeKey',
    tag: 'Keys',
    summary: 'Revoke a key',
    description: `Revokes a key permanently. Its usage records are kept. Safe to repeat. ${TAKES_EFFECT}`,
    ids: ID,
    answers: CHANGED,
    failures: ['resource_not_found'],
  },
} as const satisfies Record<string, EndpointDocs>

/** The operations that apps can call; the others are for the dashboard only. */
export type Mirrored = Exclude<keyof typeof KEY_DOCS, 'history' | 'names' | 'csv'>

/** The same operations at `/v1/keys`, for apps. */
export const APP_KEY_DOCS: Record<Mirrored, EndpointDocs> = {
  ...KEY_DOCS,
  create: {
    ...KEY_DOCS.create,
    body: { ...KEY_DOCS.create.body, examples: { limited: { name: 'Created by an app', spending_limit: 1 } } },
  },
}
